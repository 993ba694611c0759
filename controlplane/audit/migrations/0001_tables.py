import controlplane.ids
from django.db import migrations, models

from controlplane.tables import Tables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name='AuditEntry',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team_id', models.UUIDField()),
                    ('sequence', models.PositiveBigIntegerField()),
                    ('at', models.DateTimeField()),
                    ('actor', models.CharField(max_length=200)),
                    ('verb', models.CharField(max_length=64)),
                    ('outcome', models.CharField(choices=[('done', 'Done'), ('denied', 'Denied')], default='done', max_length=8)),
                    ('object_kind', models.CharField(max_length=64)),
                    ('object_id', models.CharField(blank=True, max_length=64)),
                    ('object_name', models.CharField(blank=True, max_length=200)),
                    ('before', models.CharField(blank=True, max_length=64)),
                    ('after', models.CharField(blank=True, max_length=64)),
                    ('detail', models.JSONField(default=dict)),
                    ('previous', models.CharField(max_length=64)),
                    ('hash', models.CharField(max_length=64)),
                ],
                options={
                    'ordering': ['-at', '-sequence'],
                    'constraints': [models.UniqueConstraint(fields=('team_id', 'sequence'), name='audit_sequence_once')],
                },
            ),
            migrations.CreateModel(
                name='AuditHead',
                fields=[
                    ('team_id', models.UUIDField(primary_key=True, serialize=False)),
                    ('length', models.PositiveBigIntegerField(default=0)),
                    ('hash', models.CharField(blank=True, max_length=64)),
                ],
            ),
        ),
    ]
