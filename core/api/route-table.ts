import type { Call, Reply, RouteDeclaration, RouteSchemas, Verb } from '../contract/control.js';
import { StrictSchema } from './schema.js';

/** Manifest of a module with routes. */
export interface RoutedManifest {
  readonly name: string;
  /** First part of its paths below `/v1/`. */
  readonly key: string;
  readonly root?: string | undefined;
  readonly dataModule?: string | undefined;
}

type Handler = (call: Call) => Reply | Promise<Reply>;

/** One route of a loaded module, ready to be called. */
export interface Route {
  /** Name of the module, for the log. */
  readonly module: string;
  /** The module of the data plane that carries its calls out, as far as known. */
  readonly dataModule: string | undefined;
  readonly verb: Verb;
  /** Below the base: `/v1/upstream_api/http/upstreams/:upstream`. */
  readonly path: string;
  readonly key: string;
  /** It is not in the OpenAPI document. */
  readonly isHidden?: boolean;
  readonly schemas: RouteSchemas;
  readonly body: StrictSchema | undefined;
  readonly query: StrictSchema | undefined;
  readonly handle: Handler;
}

/** @param module its object, whose declarations were checked */
export function makeRoute(
  module: object,
  { key, name, root, dataModule }: RoutedManifest,
  { verb, path, schemas, method }: RouteDeclaration,
): Route {
  return {
    module: name,
    dataModule,
    verb,
    path: `${root ?? `/v1/${key}`}${path}`,
    key,
    isHidden: root !== undefined,
    schemas,
    body: schemas.body && new StrictSchema(schemas.body),
    query: schemas.query && new StrictSchema(schemas.query),
    handle: (call) => (module as Record<string, Handler>)[method]!.call(module, call),
  };
}

/** The routes of one path. */
interface Place {
  readonly steps: readonly string[];
  readonly key: string;
  readonly routes: Map<Verb, Route>;
}

export interface Match {
  /** Of the module whose path it is: what `api_limit_except` goes by. */
  readonly key: string;
  readonly routes: ReadonlyMap<Verb, Route>;
  readonly params: Readonly<Record<string, string>>;
}

/** All routes by path. A path that is written out goes before one with a `:name` part. */
export class RouteTable {
  readonly #places: Place[] = [];

  add(route: Route): void {
    const steps = route.path.split('/').slice(1);
    const known = this.#places.find((place) => place.steps.join('/') === steps.join('/'));
    const place = known ?? { steps, key: route.key, routes: new Map<Verb, Route>() };
    if (!known) this.#places.push(place);
    place.routes.set(route.verb, route);
  }

  *[Symbol.iterator](): Iterator<Route> {
    for (const { routes } of this.#places) yield* routes.values();
  }

  /** @param given the parts of a path, decoded: `v1`, `kv` */
  find(given: readonly string[]): Match | undefined {
    const matches = this.#places.filter(({ steps }) => fits(steps, given));
    const best = matches.toSorted((a, b) => variables(a) - variables(b)).at(0);
    if (best === undefined) return undefined;
    const params = best.steps.flatMap((step, i): [string, string][] => (step.startsWith(':') ? [[step.slice(1), given[i] ?? '']] : []));
    return { key: best.key, routes: best.routes, params: Object.fromEntries(params) };
  }
}

function fits(steps: readonly string[], given: readonly string[]): boolean {
  return steps.length === given.length && steps.every((step, i) => (step.startsWith(':') ? given[i] !== '' : step === given[i]));
}

const variables = ({ steps }: Place): number => steps.filter((step) => step.startsWith(':')).length;
