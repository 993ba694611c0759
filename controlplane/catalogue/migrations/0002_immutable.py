from django.db import migrations

from controlplane.immutable import immutable


class Migration(migrations.Migration):
    dependencies = [("catalogue", "0001_tables")]

    operations = [immutable("catalogue_sloversion"), immutable("catalogue_policyversion")]
