import controlplane.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from controlplane.tables import Tables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('runs', '0001_tables'),
        ('teams', '0001_tables'),
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name='Gate',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('name', models.CharField(max_length=80)),
                    ('slug', models.SlugField(max_length=64)),
                    ('description', models.CharField(blank=True, max_length=400)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                ],
                options={
                    'ordering': ['name'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='gate_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='GateVersion',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('document', models.JSONField()),
                    ('sha256', models.CharField(max_length=64)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('line', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='gates.gate')),
                ],
                options={
                    'ordering': ['-number'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('line', 'number'), name='gateversion_number_once')],
                },
            ),
            migrations.CreateModel(
                name='GateRun',
                fields=[
                    ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='gate_run', serialize=False, to='runs.run')),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='gates.gateversion')),
                    ('overrides', models.JSONField(default=dict)),
                    ('outcome', models.CharField(blank=True, max_length=16)),
                    ('because', models.TextField(blank=True)),
                    ('thresholds', models.JSONField(default=list)),
                ],
                options={
                    'ordering': ['-run_id'],
                },
            ),
        ),
    ]
