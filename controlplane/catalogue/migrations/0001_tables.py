import controlplane.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from controlplane.tables import Tables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('teams', '0001_tables'),
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name='Endpoint',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('name', models.CharField(max_length=80)),
                    ('slug', models.SlugField(max_length=64)),
                    ('description', models.CharField(blank=True, max_length=400)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('kind', models.CharField(choices=[('vllm', 'vLLM'), ('sglang', 'SGLang'), ('llamacpp', 'llama.cpp'), ('tgi', 'TGI'), ('triton', 'Triton'), ('dynamo', 'Dynamo'), ('ollama', 'Ollama'), ('openai', 'OpenAI-compatible'), ('simulated', 'Simulated')], default='openai', max_length=12)),
                    ('base_url', models.CharField(max_length=400)),
                    ('model', models.CharField(max_length=200)),
                    ('sealed_credential', models.TextField(blank=True)),
                    ('max_rate', models.FloatField(blank=True, null=True)),
                    ('max_concurrency', models.PositiveIntegerField(blank=True, null=True)),
                    ('max_duration_s', models.PositiveIntegerField(blank=True, null=True)),
                    ('probe', models.JSONField(blank=True, null=True)),
                    ('probed_at', models.DateTimeField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['name'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='endpoint_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='Tenant',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('name', models.CharField(max_length=80)),
                    ('slug', models.SlugField(max_length=64)),
                    ('description', models.CharField(blank=True, max_length=400)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('tier', models.CharField(choices=[('vip', 'Vip'), ('normal', 'Normal'), ('batch', 'Batch')], default='normal', max_length=8)),
                    ('weight', models.FloatField(default=1.0)),
                    ('tokens_per_min', models.PositiveIntegerField(blank=True, null=True)),
                ],
                options={
                    'ordering': ['name'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='tenant_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='Workload',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='teams.team')),
                    ('name', models.CharField(max_length=80)),
                    ('slug', models.SlugField(max_length=64)),
                    ('description', models.CharField(blank=True, max_length=400)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('updated_at', models.DateTimeField(auto_now=True)),
                    ('document', models.JSONField()),
                    ('sha256', models.CharField(max_length=64)),
                ],
                options={
                    'ordering': ['name'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='workload_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='Slo',
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
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='slo_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='SloVersion',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('document', models.JSONField()),
                    ('sha256', models.CharField(max_length=64)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('line', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='catalogue.slo')),
                ],
                options={
                    'ordering': ['-number'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('line', 'number'), name='sloversion_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Policy',
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
                    'verbose_name_plural': 'policies',
                    'ordering': ['name'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('team', 'slug'), name='policy_slug_once')],
                },
            ),
            migrations.CreateModel(
                name='PolicyVersion',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('number', models.PositiveIntegerField()),
                    ('document', models.JSONField()),
                    ('sha256', models.CharField(max_length=64)),
                    ('created_at', models.DateTimeField(auto_now_add=True)),
                    ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ('line', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='catalogue.policy')),
                    ('based_on', models.PositiveIntegerField(null=True)),
                ],
                options={
                    'ordering': ['-number'],
                    'abstract': False,
                    'constraints': [models.UniqueConstraint(fields=('line', 'number'), name='policyversion_number_once')],
                },
            ),
            migrations.CreateModel(
                name='Alias',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('line', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='catalogue.policy')),
                    ('name', models.SlugField(max_length=64)),
                    ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aliases', to='catalogue.policyversion')),
                    ('moved_at', models.DateTimeField()),
                ],
                options={
                    'ordering': ['name'],
                    'constraints': [models.UniqueConstraint(fields=('line', 'name'), name='alias_once')],
                },
            ),
            migrations.CreateModel(
                name='AliasMove',
                fields=[
                    ('id', models.UUIDField(default=controlplane.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                    ('alias', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='moves', to='catalogue.alias')),
                    ('from_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalogue.policyversion')),
                    ('to_version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='catalogue.policyversion')),
                    ('by', models.CharField(max_length=200)),
                    ('at', models.DateTimeField()),
                    ('reason', models.CharField(blank=True, max_length=400)),
                ],
                options={
                    'ordering': ['-at', '-id'],
                },
            ),
        ),
    ]
