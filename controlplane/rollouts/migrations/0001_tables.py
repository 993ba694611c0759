import controlplane.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from controlplane.tables import Tables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('catalogue', '0001_tables'),
        ('comparisons', '0001_tables'),
        ('gateways', '0001_tables'),
        ('teams', '0001_tables'),
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name='Rollout',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rollouts', to='gateways.gateway')),
                    ('baseline_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.policyversion')),
                    ('candidate_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rollouts', to='catalogue.policyversion')),
                    ('slo_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.sloversion')),
                    ('workload', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.workload')),
                    ('plan', models.JSONField()),
                    ('plan_sha256', models.CharField(max_length=64)),
                    ('seed', models.PositiveBigIntegerField()),
                    ('power', models.JSONField(default=list)),
                    ('retry_of', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='retries', to='rollouts.rollout')),
                    ('number', models.PositiveIntegerField(default=1)),
                    ('phase', models.CharField(choices=[('draft', 'Draft'), ('waiting', 'Waiting'), ('running', 'Running'), ('held', 'Held'), ('done', 'Done'), ('rolled_back', 'Rolled back'), ('aborted', 'Aborted')], default='draft', max_length=12)),
                    ('stage', models.PositiveIntegerField(default=0)),
                    ('attempt', models.PositiveIntegerField(default=1)),
                    ('kept', models.BooleanField(default=False)),
                    ('because', models.TextField(blank=True)),
                    ('seq', models.PositiveIntegerField(default=0)),
                    ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('edited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('edited_at', models.DateTimeField(blank=True, null=True)),
                    ('started_at', models.DateTimeField(blank=True, null=True)),
                    ('phase_since', models.DateTimeField(auto_now_add=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                    ('watched_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-created_at', '-id'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('phase__in', ['held', 'running', 'waiting'])), fields=('gateway',), name='rollout_one_a_gateway')],
                },
            ),
            migrations.CreateModel(
                name='StageRun',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stage_runs', to='rollouts.rollout')),
                    ('index', models.PositiveIntegerField()),
                    ('attempt', models.PositiveIntegerField()),
                    ('kind', models.CharField(max_length=12)),
                    ('comparison', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='comparisons.comparison')),
                    ('setting', models.JSONField(default=dict)),
                    ('seen', models.IntegerField(default=-1)),
                    ('finding', models.CharField(default='going', max_length=12)),
                    ('because', models.TextField(blank=True)),
                    ('evidence', models.JSONField(default=dict)),
                    ('accepted', models.JSONField(default=dict)),
                    ('entered_at', models.DateTimeField()),
                    ('looked_at', models.DateTimeField(blank=True, null=True)),
                    ('awake_since', models.DateTimeField(blank=True, null=True)),
                    ('ended_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['index', 'attempt'],
                    'constraints': [models.UniqueConstraint(fields=('rollout', 'index', 'attempt'), name='stage_run_once')],
                },
            ),
            migrations.CreateModel(
                name='Approval',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='approvals', to='rollouts.rollout')),
                    ('stage', models.PositiveIntegerField()),
                    ('attempt', models.PositiveIntegerField()),
                    ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('binding', models.CharField(max_length=64)),
                    ('comment', models.TextField(blank=True)),
                    ('at', models.DateTimeField()),
                    ('expires_at', models.DateTimeField()),
                    ('voided_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['at'],
                    'constraints': [models.UniqueConstraint(condition=models.Q(('voided_at', None)), fields=('rollout', 'stage', 'attempt', 'user'), name='approval_once')],
                },
            ),
            migrations.CreateModel(
                name='RolloutEvent',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('rollout', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='rollouts.rollout')),
                    ('seq', models.PositiveIntegerField()),
                    ('at', models.DateTimeField()),
                    ('verb', models.CharField(max_length=32)),
                    ('by', models.CharField(max_length=200)),
                    ('text', models.TextField()),
                ],
                options={
                    'ordering': ['-seq'],
                    'constraints': [models.UniqueConstraint(fields=('rollout', 'seq'), name='rollout_event_once')],
                },
            ),
            migrations.CreateModel(
                name='FreezeWindow',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('starts_at', models.DateTimeField()),
                    ('ends_at', models.DateTimeField()),
                    ('reason', models.CharField(max_length=200)),
                    ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ],
                options={
                    'ordering': ['starts_at'],
                },
            ),
        ),
    ]
