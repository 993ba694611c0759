from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('runs', '0002_shadow'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='workers',
            field=models.PositiveSmallIntegerField(default=1),
        ),
    ]
