from django.db import migrations

from controlplane.immutable import immutable


class Migration(migrations.Migration):
    dependencies = [("experiments", "0001_tables")]
    operations = [immutable("experiments_experimentresult")]
