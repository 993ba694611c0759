"""How aliases, their moves and diffs of versions look in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.api.serializers import input_for
from controlplane.catalogue.diffing import Kind
from controlplane.catalogue.documents import AliasDocument
from controlplane.catalogue.models import Alias, AliasMove

AliasIn = type("AliasIn", (serializers.Serializer,), input_for(AliasDocument))


class AliasOut(serializers.ModelSerializer[Alias]):
    version = serializers.IntegerField(source="version.number")
    sha256 = serializers.CharField(source="version.sha256")

    class Meta:
        model = Alias
        fields = ("name", "version", "sha256", "moved_at")


class AliasMoveOut(serializers.ModelSerializer[AliasMove]):
    """``from`` is null for the move that made the alias."""

    to = serializers.IntegerField(source="to_version.number")

    class Meta:
        model = AliasMove
        fields = ("to", "by", "at", "reason")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """``from`` is a word of the language, so it can't be written as an attribute."""
        before = serializers.IntegerField(
            source="from_version.number", default=None, allow_null=True, read_only=True
        )
        return {"from": before, **super().get_fields()}


class ChangeOut(serializers.Serializer[Any]):
    path = serializers.CharField()
    before = serializers.JSONField()
    after = serializers.JSONField()
    kind = serializers.ChoiceField(choices=[str(one) for one in Kind if one is not Kind.SAME])
    unit = serializers.CharField()
    help = serializers.CharField()


class FigureOut(serializers.Serializer[Any]):
    name = serializers.CharField()
    unit = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    n_before = serializers.IntegerField()
    n_after = serializers.IntegerField()


class SideOut(serializers.Serializer[Any]):
    run = serializers.CharField()
    page = serializers.CharField(source="href")
    at = serializers.DateTimeField()
    seed = serializers.IntegerField()


class PairOut(serializers.Serializer[Any]):
    """Two runs under one load at different times: a description, no verdict."""

    load = serializers.CharField()
    slo = serializers.CharField()
    before = SideOut()
    after = SideOut()
    figures = FigureOut(many=True)


class DiffOut(serializers.Serializer[Any]):
    to = serializers.IntegerField()
    parameters = ChangeOut(many=True)
    measured = PairOut(many=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"from": serializers.IntegerField(), **super().get_fields()}
