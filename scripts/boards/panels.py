"""What the panels of all boards have in common: data source, legend, size and colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
FLAVOR = 'flavor=~"$flavor"'
"""Selects the flavors that the board's variable names."""
NAMESPACE = 'namespace=~"$namespace"'
_WIDTH, _HEIGHT = 12, 8
_NUMBER_WIDTH, _NUMBER_HEIGHT = 6, 4


class Query(NamedTuple):
    """A query and the name of each of its series; `{{label}}` stands for a label's value."""

    expression: str
    legend: str


def percentile(share: float, metric: str, of: str = "", by: str = "", window: str = "1h") -> str:
    """A percentile of a histogram in a window of time; nothing where nothing was measured.

    >>> percentile(0.95, "run_seconds", by="role")
    'histogram_quantile(0.95, sum by (le, role) (rate(run_seconds_bucket[1h]))) >= 0'
    """
    labels, selector = ", ".join(filter(None, ("le", by))), f"{{{of}}}" if of else ""
    rate = f"rate({metric}_bucket{selector}[{window}])"
    # It is not a number where nothing was measured.
    return f"histogram_quantile({share}, sum by ({labels}) ({rate})) >= 0"


def or_zero(expression: str) -> str:
    """An expression that is 0 where it has no series.

    >>> or_zero("max(a)")
    '(max(a)) or on () vector(0)'
    """
    return f"({expression}) or on () vector(0)"


def number(
    title: str, about: str, unit: str, expression: str, *, bad: float | None = None
) -> stat.Panel:
    """A panel with one number, which is red from `bad` on."""
    steps = [models.Threshold(value=None, color="text")]
    if bad is not None:
        steps.append(models.Threshold(value=bad, color="red"))
    return (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(_NUMBER_WIDTH)
        .height(_NUMBER_HEIGHT)
        .thresholds(dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .graph_mode(common_models.BigValueGraphMode.AREA)
        .with_target(_target(Query(expression, title), "A"))
    )


def graph(
    title: str,
    about: str,
    unit: str,
    *queries: Query,
    width: int = _WIDTH,
    stacked: bool = False,
) -> timeseries.Panel:
    """A panel with a line for each series, or with areas on top of each other."""
    mode = common_models.StackingMode.NORMAL if stacked else common_models.StackingMode.NONE
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .span(width)
        .height(_HEIGHT)
        .fill_opacity(40 if stacked else 10)
        .stacking(common.StackingConfig().mode(mode))
        .legend(
            common.VizLegendOptions()
            .show_legend(True)  # noqa: FBT003 - its only argument
            .placement(common_models.LegendPlacement.BOTTOM)
            .display_mode(common_models.LegendDisplayMode.LIST)
        )
        .tooltip(
            common.VizTooltipOptions()
            .mode(common_models.TooltipDisplayMode.MULTI)
            .sort(common_models.SortOrder.DESCENDING)
        )
    )
    for name, query in zip("ABCDEF", queries, strict=False):
        panel.with_target(_target(query, name))
    return panel


def board(
    title: str,
    about: str,
    variables: Sequence[dashboard.QueryVariable],
    panels: Sequence[stat.Panel | timeseries.Panel],
) -> dashboard.Dashboard:
    """A board with its panels from left to right, and with a choice of the data source."""
    slug = title.lower().replace(" ", "-")
    made = (
        dashboard.Dashboard(f"devctl / {title}")
        .uid(f"devctl-{slug}")
        .description(about)
        .tags(["devctl"])
        .readonly()
        .timezone("browser")
        .time("now-6h", "now")
        .refresh("1m")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .with_variable(
            dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus")
        )
        .link(
            dashboard.DashboardLink("devctl")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags(["devctl"])
            .keep_time(True)  # noqa: FBT003 - its only argument
        )
    )
    for variable in variables:
        made.with_variable(variable)
    for panel_id, panel in enumerate(panels, start=1):
        made.with_panel(panel.id(panel_id))
    return made


def values_of(label: str, metric: str) -> dashboard.QueryVariable:
    """A variable with the values of a label; all of them at first."""
    return (
        dashboard.QueryVariable(label)
        .label(label.capitalize())
        .datasource(SOURCE)
        .query(f"label_values({metric}, {label})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)  # noqa: FBT003 - its only argument
        .include_all(True)  # noqa: FBT003 - as above
        # Everything, an empty flavor too.
        .all_value(".*")
        .current(models.VariableOption(selected=True, text="All", value="$__all"))
    )


def _target(query: Query, name: str) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .expr(query.expression)
        .legend_format(query.legend)
        .ref_id(name)
        .datasource(SOURCE)
        .range()
    )
