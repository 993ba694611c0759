from django.db import migrations

from controlplane.immutable import immutable


class Migration(migrations.Migration):
    dependencies = [("gates", "0001_tables")]

    operations = [immutable("gates_gateversion")]
