import type { FigureRow } from '../../core/contract/figures.js';
import type { HttpRequest, VariableGetter } from '../../core/contract/http.js';
import { CACHE_STATUSES, CLASSES, Http, statusCell } from './layout.js';

/** Statuses that there are. */
const STATUSES = Array.from({ length: 500 }, (_, at) => at + 100);

/** `$vts_…` as nginx-module-vts has them: figures of the server that a request is in, over all workers. @param rowOf undefined: it is not counted */
export function statisticsVariables(rowOf: (request: HttpRequest) => FigureRow | undefined): Readonly<Record<string, VariableGetter>> {
  const sumOf = (cells: readonly number[]): VariableGetter => {
    return (request) => {
      const row = rowOf(request);
      return row && String(cells.reduce((sum, cell) => sum + row.total(cell), 0));
    };
  };
  const classes = CLASSES.map((name, at) => {
    const cells = new Set(
      STATUSES.filter((status) => Math.floor(status / 100) === at + 1).map((status) => Http.Statuses + statusCell(status)),
    );
    return [`vts_${name}_counter`, sumOf([...cells])] as const;
  });
  const cache = CACHE_STATUSES.map((name, at) => [`vts_cache_${name.toLowerCase()}_counter`, sumOf([Http.Cache + at])] as const);
  return {
    vts_request_counter: sumOf([Http.Requests]),
    vts_in_bytes: sumOf([Http.Received]),
    vts_out_bytes: sumOf([Http.Sent]),
    ...Object.fromEntries([...classes, ...cache]),
  };
}
