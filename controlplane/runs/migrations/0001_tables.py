import controlplane.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from controlplane.tables import Tables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('catalogue', '0001_tables'),
        ('teams', '0001_tables'),
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name='Run',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalogue.endpoint')),
                    ('policy_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalogue.policyversion')),
                    ('shadow_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='shadow_runs', to='catalogue.policyversion')),
                    ('slo_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalogue.sloversion')),
                    ('workload', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalogue.workload')),
                    ('retry_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='retries', to='runs.run')),
                    ('scenario', models.JSONField()),
                    ('scenario_sha256', models.CharField(max_length=64)),
                    ('seed', models.PositiveBigIntegerField()),
                    ('workers', models.PositiveSmallIntegerField(default=1)),
                    ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('cancelling', 'Cancelling'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('lost', 'Lost')], default='queued', max_length=12)),
                    ('reason', models.CharField(blank=True, max_length=500)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('load_started_at', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('live', models.JSONField(blank=True, default=dict)),
                    ('verdict', models.CharField(blank=True, max_length=12)),
                    ('because', models.TextField(blank=True)),
                    ('judgement', models.JSONField(blank=True, null=True)),
                    ('summary', models.JSONField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-created_at', '-id'],
                    'indexes': [models.Index(fields=['team', '-created_at'], name='run_newest'), models.Index(condition=models.Q(('status__in', ['cancelling', 'running'])), fields=['heartbeat_at'], name='run_beating')],
                },
            ),
            migrations.CreateModel(
                name='RunWindow',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='windows', to='runs.run')),
                    ('index', models.PositiveIntegerField()),
                    ('revision', models.PositiveIntegerField()),
                    ('seq', models.PositiveIntegerField()),
                    ('final', models.BooleanField()),
                    ('data', models.JSONField()),
                ],
                options={
                    'ordering': ['index'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'index'), name='window_once')],
                },
            ),
            migrations.CreateModel(
                name='RunDecision',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='runs.run')),
                    ('shadow', models.BooleanField(default=False)),
                    ('n', models.PositiveIntegerField()),
                    ('seq', models.PositiveIntegerField()),
                    ('data', models.JSONField()),
                ],
                options={
                    'ordering': ['n'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'shadow', 'n'), name='decision_once')],
                },
            ),
            migrations.CreateModel(
                name='RunRow',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='runs.run')),
                    ('table', models.CharField(choices=[('events', 'Events'), ('cohorts', 'Cohorts')], max_length=8)),
                    ('at', models.PositiveIntegerField()),
                    ('seq', models.PositiveIntegerField()),
                    ('values', models.JSONField()),
                ],
                options={
                    'ordering': ['at'],
                    'constraints': [models.UniqueConstraint(fields=('run', 'table', 'at'), name='row_once')],
                },
            ),
        ),
    ]
