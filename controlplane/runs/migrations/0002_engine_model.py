import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('catalogue', '0001_tables'),
        ('runs', '0001_tables'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='profile',
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AlterField(
            model_name='run',
            name='endpoint',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalogue.endpoint'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('endpoint', None), ('profile', ''), _connector='XOR'), name='run_endpoint_or_profile'),
        ),
    ]
