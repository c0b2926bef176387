import type { Call, Reply, RouteDeclaration, RouteSchemas, Verb } from '../module/control.js';
import { StrictSchema } from './schema.js';

type Handler = (call: Call) => Reply | Promise<Reply>;

/** One route of a loaded module, ready to be called. */
export interface Route {
  readonly verb: Verb;
  /** Below the base: `/v1/upstream_api/http/upstreams/:group`. */
  readonly path: string;
  readonly key: string;
  readonly schemas: RouteSchemas;
  readonly body: StrictSchema | undefined;
  readonly query: StrictSchema | undefined;
  readonly handle: Handler;
}

export function makeRoute(module: object, key: string, { verb, path, schemas, method }: RouteDeclaration): Route {
  const handler = (module as Record<string, Handler>)[method];
  if (handler === undefined) throw new Error(`route ${verb} ${path}: no method ${method}`);
  return {
    verb,
    path: `/v1/${key}${path}`,
    key,
    schemas,
    body: schemas.body && new StrictSchema(schemas.body),
    query: schemas.query && new StrictSchema(schemas.query),
    handle: (call) => handler.call(module, call),
  };
}

/** The routes of one path. */
interface Place {
  readonly steps: readonly string[];
  readonly routes: Map<Verb, Route>;
}

export interface Match {
  readonly routes: ReadonlyMap<Verb, Route>;
  readonly params: Readonly<Record<string, string>>;
}

/** All routes by path. A path that is written out goes before one with a `:name` part. */
export class RouteTable {
  readonly #places: Place[] = [];

  add(route: Route): void {
    const steps = stepsOf(route.path);
    const known = this.#places.find((place) => place.steps.join('/') === steps.join('/'));
    const place = known ?? { steps, routes: new Map<Verb, Route>() };
    if (!known) this.#places.push(place);
    place.routes.set(route.verb, route);
  }

  /** Takes out what a module brought. */
  remove(key: string): void {
    for (const { routes } of this.#places) for (const [verb, route] of routes) if (route.key === key) routes.delete(verb);
  }

  *[Symbol.iterator](): Iterator<Route> {
    for (const { routes } of this.#places) yield* routes.values();
  }

  /** A slash at the end makes no difference. */
  find(path: string): Match | undefined {
    const given = stepsOf(path);
    const matches = this.#places.filter(({ steps, routes }) => routes.size > 0 && fits(steps, given));
    const best = matches.toSorted((a, b) => variables(a) - variables(b)).at(0);
    if (best === undefined) return undefined;
    const params = best.steps.flatMap((step, i): [string, string][] => (step.startsWith(':') ? [[step.slice(1), given[i] ?? '']] : []));
    return { routes: best.routes, params: Object.fromEntries(params) };
  }
}

function stepsOf(path: string): string[] {
  return path.replace(/^\//, '').replace(/\/$/, '').split('/');
}

function fits(steps: readonly string[], given: readonly string[]): boolean {
  return steps.length === given.length && steps.every((step, i) => (step.startsWith(':') ? given[i] !== '' : step === given[i]));
}

const variables = ({ steps }: Place): number => steps.filter((step) => step.startsWith(':')).length;
