import controlplane.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from controlplane.tables import Tables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('teams', '0001_tables'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name='Experiment',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('system', models.CharField(max_length=64)),
                    ('seeds', models.PositiveIntegerField()),
                    ('reduced', models.BooleanField(default=False)),
                    ('by', models.CharField(max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('cancelling', 'Cancelling'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('lost', 'Lost')], default='queued', max_length=12)),
                    ('reason', models.CharField(blank=True, max_length=500)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('live', models.JSONField(blank=True, default=dict)),
                    ('again_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='repeats', to='experiments.experiment')),
                    ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                ],
                options={
                    'ordering': ['-created_at', '-id'],
                    'indexes': [models.Index(fields=['team', '-created_at'], name='experiment_newest')],
                },
            ),
            migrations.CreateModel(
                name='ExperimentResult',
                fields=[
                    ('experiment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='result', serialize=False, to='experiments.experiment')),
                    ('document', models.JSONField()),
                    ('sha256', models.CharField(max_length=64)),
                    ('holds', models.BooleanField()),
                    ('runs', models.PositiveIntegerField()),
                    ('seconds', models.FloatField()),
                    ('version', models.CharField(max_length=40)),
                ],
            ),
        ),
    ]
