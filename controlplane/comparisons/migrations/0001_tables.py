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
                name='Comparison',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('baseline_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='comparisons_as_baseline', to='catalogue.policyversion')),
                    ('candidate_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='comparisons_as_candidate', to='catalogue.policyversion')),
                    ('slo_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='comparisons', to='catalogue.sloversion')),
                    ('workload', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='comparisons', to='catalogue.workload')),
                    ('where', models.CharField(choices=[('model', 'Engine model'), ('engines', 'Two simulated engines'), ('endpoints', 'Two endpoints'), ('switchback', 'One endpoint, in turn')], max_length=12)),
                    ('endpoint', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='comparisons', to='catalogue.endpoint')),
                    ('second_endpoint', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.endpoint')),
                    ('plan', models.JSONField()),
                    ('plan_sha256', models.CharField(max_length=64)),
                    ('request', models.JSONField()),
                    ('power', models.JSONField(blank=True, default=list)),
                    ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('by', models.CharField(max_length=200)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('cancelling', 'Cancelling'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('lost', 'Lost')], default='queued', max_length=12)),
                    ('reason', models.CharField(blank=True, max_length=500)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('load_started_at', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('live', models.JSONField(blank=True, default=dict)),
                    ('outcome', models.CharField(blank=True, choices=[('pass', 'Pass'), ('harm', 'Harm'), ('inconclusive', 'Inconclusive'), ('invalid', 'Invalid')], max_length=12)),
                    ('because', models.TextField(blank=True)),
                    ('verdict', models.JSONField(blank=True, null=True)),
                    ('result', models.JSONField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-created_at', '-id'],
                    'indexes': [models.Index(fields=['team', '-created_at'], name='comparison_newest'), models.Index(condition=models.Q(('status__in', ['cancelling', 'running'])), fields=['heartbeat_at'], name='comparison_beating')],
                },
            ),
            migrations.CreateModel(
                name='ComparisonBlock',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('comparison', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='comparisons.comparison')),
                    ('index', models.PositiveIntegerField()),
                    ('seq', models.PositiveIntegerField()),
                    ('data', models.JSONField()),
                    ('arms', models.JSONField()),
                ],
                options={
                    'ordering': ['index'],
                    'constraints': [models.UniqueConstraint(fields=('comparison', 'index'), name='comparison_block_once')],
                },
            ),
        ),
    ]
