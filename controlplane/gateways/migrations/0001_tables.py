import controlplane.ids
import django.db.models.deletion
import django.utils.timezone
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
                name='Gateway',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('name', models.CharField(max_length=80)),
                    ('slug', models.SlugField(max_length=64)),
                    ('description', models.CharField(blank=True, max_length=400)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('active_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gateways', to='catalogue.policyversion')),
                    ('slo_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='gateways', to='catalogue.sloversion')),
                    ('shadow_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.policyversion')),
                    ('canary', models.JSONField(blank=True, null=True)),
                    ('canary_version', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.policyversion')),
                    ('anonymous_tenant', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='catalogue.tenant')),
                    ('queue', models.JSONField(blank=True, default=dict)),
                    ('timeouts', models.JSONField(blank=True, default=dict)),
                    ('limits', models.JSONField(blank=True, default=dict)),
                    ('revision', models.PositiveBigIntegerField(default=1)),
                    ('published_at', models.DateTimeField(default=django.utils.timezone.now)),
                    ('seq', models.PositiveBigIntegerField(default=0)),
                    ('polled_at', models.DateTimeField(blank=True, null=True)),
                    ('seen_at', models.DateTimeField(blank=True, null=True)),
                    ('revision_seen', models.PositiveBigIntegerField(blank=True, null=True)),
                    ('config_seen', models.CharField(blank=True, max_length=64)),
                    ('watched_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['name'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='gateway_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayLane',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lane_rows', to='gateways.gateway')),
                    ('name', models.SlugField(max_length=63)),
                    ('place', models.PositiveSmallIntegerField()),
                    ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gateway_lanes', to='catalogue.endpoint')),
                ],
                options={
                    'ordering': ['place', 'pk'],
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'name', 'endpoint'), name='lane_member_once')],
                },
            ),
            migrations.CreateModel(
                name='TenantKey',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='gateways.gateway')),
                    ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gateway_keys', to='catalogue.tenant')),
                    ('name', models.CharField(max_length=80)),
                    ('prefix', models.CharField(max_length=12)),
                    ('digest', models.CharField(max_length=64, unique=True)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['-created_at'],
                },
            ),
            migrations.CreateModel(
                name='CanaryTerm',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='terms', to='gateways.gateway')),
                    ('sha256', models.CharField(max_length=64)),
                    ('document', models.JSONField()),
                    ('revision', models.PositiveBigIntegerField()),
                    ('began_at', models.DateTimeField(auto_now_add=True)),
                ],
                options={
                    'ordering': ['-revision'],
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'sha256'), name='canary_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayStream',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='streams', to='gateways.gateway')),
                    ('stream', models.CharField(max_length=64)),
                    ('acknowledged', models.PositiveBigIntegerField(default=0)),
                    ('heard_at', models.DateTimeField()),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'stream'), name='stream_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayProcess',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='processes', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('since', models.FloatField()),
                    ('at', models.FloatField()),
                    ('heard_at', models.DateTimeField()),
                    ('ended', models.BooleanField(default=False)),
                    ('revision', models.PositiveBigIntegerField()),
                    ('config_sha256', models.CharField(max_length=64)),
                    ('enforced', models.JSONField(default=list)),
                    ('lanes', models.JSONField(default=list)),
                    ('dropped', models.PositiveBigIntegerField(default=0)),
                ],
                options={
                    'ordering': ['-heard_at'],
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'boot'), name='process_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewaySecond',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('arm', models.CharField(max_length=9)),
                    ('policy', models.CharField(max_length=64)),
                    ('slo', models.CharField(blank=True, max_length=64)),
                    ('index', models.PositiveBigIntegerField()),
                    ('data', models.JSONField()),
                    ('tenant', models.CharField(max_length=64)),
                    ('revision', models.PositiveIntegerField()),
                    ('final', models.BooleanField()),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'boot', 'index', 'arm', 'policy', 'slo', 'tenant'), name='gateway_second_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayWindow',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('arm', models.CharField(max_length=9)),
                    ('policy', models.CharField(max_length=64)),
                    ('slo', models.CharField(blank=True, max_length=64)),
                    ('index', models.PositiveBigIntegerField()),
                    ('data', models.JSONField()),
                    ('seq', models.PositiveBigIntegerField()),
                    ('offered', models.PositiveBigIntegerField()),
                    ('closed', models.BooleanField(default=False)),
                ],
                options={
                    'ordering': ['index'],
                    'indexes': [models.Index(fields=['gateway', 'index'], name='gateway_window_time'), models.Index(fields=['gateway', 'seq'], name='gateway_window_seq')],
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'boot', 'index', 'arm', 'policy', 'slo'), name='gateway_window_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayGauge',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('lane', models.CharField(max_length=63)),
                    ('index', models.PositiveBigIntegerField()),
                    ('seq', models.PositiveBigIntegerField()),
                    ('limit', models.PositiveIntegerField()),
                    ('in_flight', models.PositiveIntegerField()),
                    ('waiting', models.PositiveIntegerField()),
                ],
                options={
                    'ordering': ['index'],
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'index', 'lane', 'boot'), name='gateway_gauge_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayBlock',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('canary', models.CharField(max_length=64)),
                    ('block', models.PositiveIntegerField()),
                    ('lane', models.CharField(max_length=63)),
                    ('arm', models.CharField(max_length=9)),
                    ('policy', models.CharField(max_length=64)),
                    ('revision', models.PositiveIntegerField()),
                    ('engines', models.JSONField(default=list)),
                    ('data', models.JSONField()),
                ],
                options={
                    'ordering': ['block'],
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'canary', 'block', 'boot', 'lane', 'policy'), name='gateway_block_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayPresence',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('canary', models.CharField(max_length=64)),
                    ('block', models.PositiveIntegerField()),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'canary', 'block', 'boot'), name='gateway_presence_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayDecision',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='gateways.gateway')),
                    ('lane', models.CharField(max_length=63)),
                    ('shadow', models.BooleanField()),
                    ('at', models.FloatField()),
                    ('seq', models.PositiveBigIntegerField()),
                    ('data', models.JSONField()),
                ],
                options={
                    'ordering': ['at', 'pk'],
                    'indexes': [models.Index(fields=['gateway', 'seq'], name='gateway_decision_seq')],
                },
            ),
            migrations.CreateModel(
                name='GatewayShadow',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shadows', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('lane', models.CharField(max_length=63)),
                    ('policy', models.CharField(max_length=64)),
                    ('since', models.FloatField()),
                    ('at', models.FloatField()),
                    ('report', models.JSONField()),
                    ('deciding_seconds', models.FloatField()),
                    ('fault', models.CharField(blank=True, max_length=300)),
                ],
                options={
                    'constraints': [models.UniqueConstraint(fields=('gateway', 'boot', 'lane', 'policy'), name='gateway_shadow_once')],
                },
            ),
            migrations.CreateModel(
                name='GatewayFault',
                fields=[
                    ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                    ('gateway', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='faults', to='gateways.gateway')),
                    ('boot', models.CharField(max_length=64)),
                    ('at', models.FloatField()),
                    ('heard_at', models.DateTimeField()),
                    ('code', models.CharField(max_length=64)),
                    ('problems', models.JSONField()),
                ],
                options={
                    'ordering': ['-at', '-pk'],
                },
            ),
        ),
        migrations.AddField(
            model_name='gateway',
            name='tenants',
            field=models.ManyToManyField(related_name='gateways', through='gateways.TenantKey', to='catalogue.tenant'),
        ),
    ]
