from django.db import migrations

from controlplane.immutable import immutable


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_tables")]

    operations = [immutable("audit_auditentry")]
