"""How objects look in the API. Input is parsed by the documents; its schema is made from them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from controlplane.catalogue.documents import EndpointDocument, TenantDocument
from controlplane.catalogue.models import Endpoint, Policy, Slo, Tenant, Workload
from documents.fields import FieldInfo, describe

COMMON = ("id", "slug", "name", "description")
TIMES = ("created_at", "updated_at")


class EndpointOut(serializers.ModelSerializer[Endpoint]):
    has_credential = serializers.BooleanField(read_only=True)

    class Meta:
        model = Endpoint
        fields = (
            *COMMON,
            "kind",
            "base_url",
            "model",
            "max_rate",
            "max_concurrency",
            "max_duration_s",
            "has_credential",
            "probe",
            "probed_at",
            *TIMES,
        )


class TenantOut(serializers.ModelSerializer[Tenant]):
    class Meta:
        model = Tenant
        fields = (*COMMON, "tier", "weight", "tokens_per_min", *TIMES)


class WorkloadOut(serializers.ModelSerializer[Workload]):
    class Meta:
        model = Workload
        fields = (*COMMON, "document", "sha256", *TIMES)


class VersionOut(serializers.Serializer[Any]):
    """One immutable version of an SLO or a policy."""

    id = serializers.UUIDField()
    number = serializers.IntegerField()
    sha256 = serializers.CharField()
    based_on = serializers.IntegerField(
        read_only=True,
        default=None,
        allow_null=True,
        help_text="number of the version it was made from; null for a first one and for kinds "
        "that keep none",
    )
    document = serializers.JSONField()
    created_at = serializers.DateTimeField()
    created_by = serializers.CharField(source="created_by.username")


class SloOut(serializers.ModelSerializer[Slo]):
    latest = VersionOut(read_only=True)

    class Meta:
        model = Slo
        fields = (*COMMON, "latest", *TIMES)


class PolicyOut(serializers.ModelSerializer[Policy]):
    latest = VersionOut(read_only=True)

    class Meta:
        model = Policy
        fields = (*COMMON, "latest", *TIMES)


class DocumentIn(serializers.Serializer[Any]):
    """A whole document of an SLO or a policy; its ``metadata.name`` is the object's name."""

    document = serializers.JSONField()


class WorkloadIn(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=64)
    document = serializers.JSONField(help_text="kind and its parameters")
    description = serializers.CharField(required=False, max_length=400)


def field_for(info: FieldInfo) -> serializers.Field[Any, Any, Any, Any]:
    """A document's field in the schema: type, range, unit and help as declared, once."""
    unit = f" ({info.unit})" if info.unit else ""
    options: dict[str, Any] = {
        "required": info.required,
        "allow_null": info.optional,
        "help_text": f"{info.help}{unit}",
    }
    if info.choices:
        return serializers.ChoiceField(choices=info.choices, **options)
    if info.kind is str:
        return serializers.CharField(**options)
    limits = {"min_value": info.minimum, "max_value": info.maximum}
    options |= {name: value for name, value in limits.items() if value is not None}
    number = serializers.IntegerField if info.kind is int else serializers.FloatField
    return number(**options)


def input_for(cls: type[Any], **more: serializers.Field[Any, Any, Any, Any]) -> dict[str, Any]:
    return {info.name: field_for(info) for info in describe(cls)} | more


EndpointIn = type(
    "EndpointIn",
    (serializers.Serializer,),
    input_for(
        EndpointDocument,
        credential=serializers.CharField(
            write_only=True,
            required=False,
            allow_null=True,
            help_text="API key; sealed and never shown. Left out it stays, null clears it; "
            "a new base_url without it clears it",
        ),
    ),
)
TenantIn = type("TenantIn", (serializers.Serializer,), input_for(TenantDocument))


class FaultOut(serializers.Serializer[Any]):
    pointer = serializers.CharField()
    detail = serializers.CharField()


class ProblemOut(serializers.Serializer[Any]):
    """RFC 9457."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    errors = FaultOut(many=True, required=False)
