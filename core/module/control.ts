/** What a module of the control plane sees: routes with schemas, calls, replies, errors. */
import 'reflect-metadata';
import type { Static, TSchema } from 'typebox';

/** A failure of an API call. `code` is stable and in the catalogue; `text` is for people and names no path of the server. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    text: string,
    readonly details: readonly unknown[] = [],
  ) {
    super(text);
  }
}

export type Verb = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** The declaration of one route: validation, static types and OpenAPI come from it. */
export interface RouteSchemas {
  readonly summary: string;
  /** Schema of the JSON body; absent: no body is read. */
  readonly body?: TSchema;
  /** Schema of the query parameters beside `dry_run` and `fields`. */
  readonly query?: TSchema;
  /** Answers by status. `null` is an empty body; several are alternatives of different types (`contentMediaType`, JSON without it). */
  readonly answers: Readonly<Record<number, TSchema | readonly TSchema[] | null>>;
  /** A write of something that the caller names and that may be new: with `If-None-Match: *` it has to be. For the document. */
  readonly creates?: boolean;
  /** Error codes this route may answer with, for the document; beside those of its form (`InvalidField` …), which every route has. */
  readonly errors?: readonly string[];
}

/** Error codes of a route that calls the data plane, beside those of the action. */
export const DATA_PLANE_ERRORS = ['DataPlaneUnavailable', 'NotLoaded', 'AnswerTooLong'] as const;

type BodyOf<S extends RouteSchemas> = S extends { body: infer B extends TSchema } ? Static<B> : undefined;
type QueryOf<S extends RouteSchemas> = S extends { query: infer Q extends TSchema } ? Static<Q> : Record<string, never>;

/** What must hold of the version in force for a write to be made (RFC 9110, 13.1). Absent: nothing. */
export interface Preconditions {
  /** `If-Match`: versions, one of which it has to be; `*`: any. */
  readonly ifMatch?: string | undefined;
  /** `If-None-Match`: versions that it must not be; `*`: nothing may be there yet. */
  readonly ifNoneMatch?: string | undefined;
}

/**
 * @param current gives the version in force, undefined if there is nothing yet; called if there is something to compare it with
 * @throws ApiError 412 `VersionMismatch`
 */
export function assertPreconditions({ ifMatch, ifNoneMatch }: Preconditions, current: () => string | undefined): void {
  if (ifMatch === undefined && ifNoneMatch === undefined) return;
  const version = current();
  if (ifMatch !== undefined && !names(ifMatch, version))
    throw mismatch(version === undefined ? 'it does not exist' : 'it was changed meanwhile', version);
  if (ifNoneMatch !== undefined && names(ifNoneMatch, version))
    throw mismatch(ifNoneMatch.trim() === '*' ? 'it exists already' : 'it still has that version', version);
}

function mismatch(text: string, version: string | undefined): ApiError {
  return new ApiError(412, 'VersionMismatch', text, version === undefined ? [] : [{ version }]);
}

function names(tags: string, version: string | undefined): boolean {
  if (version === undefined) return false;
  return tags.trim() === '*' || tags.split(',').some((tag) => tag.trim().replace(/^"(.*)"$/, '$1') === version);
}

/** One call of a route, validated. */
export interface Call<S extends RouteSchemas = RouteSchemas> extends Preconditions {
  /** Path of the location that holds the API, to put in front of `/v1/…` in a `Location`. */
  readonly base: string;
  /** Decoded `:name` parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryOf<S>;
  readonly body: BodyOf<S>;
  /** `?dry_run=1`: validate and say what would change; change nothing. */
  readonly dryRun: boolean;
  readonly requestId: string;
}

/** An answer. `body` undefined: empty. A string with `type` goes out as it is; everything else as JSON. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Goes out as `ETag`; the caller may send it back as `If-Match`. */
  readonly version?: string;
  /** `after` of the page that follows this one; goes out as `Link: <…>; rel="next"`. */
  readonly next?: string;
}

/** The answer of a write that was only tried (`?dry_run=1`): the change as lines of a configuration diff. */
export function dryRunReply(diff: readonly string[]): Reply {
  return { status: 200, body: { dry_run: true, diff } };
}

export interface RouteDeclaration {
  readonly verb: Verb;
  /** Below `/v1/`, `:name` for a part: `/http/upstreams/:group/servers/:id`. */
  readonly path: string;
  readonly schemas: RouteSchemas;
  readonly method: string;
}

const ROUTES = Symbol.for('srv:routes');

/** Makes a method the handler of a route below `/v1/<key>`. */
export function route<const S extends RouteSchemas>(verb: Verb, path: string, schemas: S) {
  return <M extends (call: Call<S>) => Promise<Reply> | Reply>(
    target: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    const routes = (Reflect.getMetadata(ROUTES, target) as RouteDeclaration[] | undefined) ?? [];
    Reflect.defineMetadata(ROUTES, [...routes, { verb, path, schemas, method }], target);
  };
}

export function routesOf(module: object): readonly RouteDeclaration[] {
  return (Reflect.getMetadata(ROUTES, module) as RouteDeclaration[] | undefined) ?? [];
}

const ACTIONS = Symbol.for('srv:actions');
export interface ActionContext extends Preconditions {
  readonly dryRun: boolean;
  readonly requestId: string;
  /** Epoch milliseconds after which the caller does not wait any more: nothing may be changed for it then. */
  readonly deadline?: number;
  /** Tells the caller that this takes long: it waits until so many milliseconds from now. */
  readonly extendDeadline?: (ms: number) => void;
}

/**
 * Makes a method of a data-plane module callable from the control plane as `name` (see `DataPlane.call`). It runs in the master; what
 * it throws as {@link ApiError} reaches the caller, anything else becomes `InternalError` and is logged.
 */
export function action(name: string) {
  return <M extends (params: never, context: ActionContext) => unknown>(
    target: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    const actions = (Reflect.getMetadata(ACTIONS, target) as Map<string, string> | undefined) ?? new Map<string, string>();
    if (actions.has(name)) throw new Error(`action "${name}" is declared twice, by "${actions.get(name)}" and "${method}"`);
    Reflect.defineMetadata(ACTIONS, new Map(actions).set(name, method), target);
  };
}

/** Action names and the methods that carry them out. */
export function actionsOf(module: object): ReadonlyMap<string, string> {
  return (Reflect.getMetadata(ACTIONS, module) as ReadonlyMap<string, string> | undefined) ?? new Map<string, string>();
}
