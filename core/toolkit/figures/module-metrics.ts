import type { FigureFamily } from '../../contract/families.js';
import type { HistogramValue, Labels, MetricValue } from '../../contract/metrics.js';

/** Histograms of modules, whose bounds are their own. */
export interface HistogramFamily {
  readonly name: string;
  readonly help: string;
  readonly unit?: undefined;
  readonly kind: 'histogram';
  readonly samples: Iterable<{ readonly labels: Labels; readonly value: HistogramValue; readonly createdAt?: undefined }>;
}

/** Families of the metrics that modules count in. */
export function* metricFamilies(metrics: readonly MetricValue[]): Generator<FigureFamily | HistogramFamily> {
  const byName = Map.groupBy(metrics, ({ name }) => name);
  for (const [whole, values] of byName) {
    const kind = values[0]!.kind;
    const name = kind === 'counter' ? whole.replace(/_total$/, '') : whole;
    const help = `Figure of a module: ${name.replace(/^srv_/, '').replaceAll('_', ' ')}.`;
    if (kind === 'histogram') {
      const samples = values.flatMap((metric) => (metric.kind === kind ? [{ labels: metric.labels, value: metric.value }] : []));
      yield { name, help, kind, samples };
      continue;
    }
    const samples = values.flatMap((metric) => (metric.kind === kind ? [{ labels: metric.labels, value: metric.value }] : []));
    yield { name, help, kind, samples };
  }
}
