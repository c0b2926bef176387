/** Contract of the control plane: routes with schemas, calls, replies, errors. */
import 'reflect-metadata';
import { setImmediate } from 'node:timers/promises';
import type { ClusterOutcome } from './cluster.js';
import { shownText, shownValues } from './secrets.js';
import type { Static, TSchema } from 'typebox';

/** A failure of an API call. `code` is stable and in the catalogue; `text` is for people and names no path of the server. */
export class ApiError extends Error {
  readonly details: readonly unknown[];

  /**
   * @param status 400 to 599
   * @param code a name such as `UpstreamNotFound`: one of srv's, or the module's own
   * @param details JSON
   */
  constructor(
    readonly status: number,
    readonly code: string,
    text: string,
    details: readonly unknown[] = [],
  ) {
    // A caller may send a key in the wrong field, and read it in an error that quotes it.
    super(shownText(text));
    this.details = shownValues(details);
    if (!(Number.isInteger(status) && status >= 400 && status < 600))
      throw new TypeError(`the status of an ApiError must be 400 to 599, not ${status}`);
    if (!CODE.test(code)) throw new TypeError(`the code of an ApiError must be a name like UpstreamNotFound, not "${code}"`);
  }
}

/** Letters and digits, the first a capital. */
const CODE = /^[A-Z][A-Za-z0-9]*$/;

export const VERBS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Verb = (typeof VERBS)[number];

/** The declaration of one route: validation, static types and OpenAPI come from it. */
export interface RouteSchemas {
  readonly summary: string;
  /** Schema of the JSON body; absent: no body is read. */
  readonly body?: TSchema;
  /** A body is JSON whatever its Content-Type says: for clients of another API, which send none, or that of `curl -d`. */
  readonly anyMediaType?: boolean;
  /** Bytes that the body may have (default 5 MiB). */
  readonly maxBody?: number;
  /**
   * Errors of a body that a schema cannot name, reported together with those of the schema. The body may be of any form; the code of the
   * first error counts where the schema finds none.
   */
  readonly check?: (body: unknown) => readonly ApiError[];
  /** Schema of the query parameters beside `dry_run` and `fields`. */
  readonly query?: TSchema;
  /**
   * Schemas of the responses by status. `null` is an empty body; several are alternatives of different types (`contentMediaType`, JSON
   * without it). A schema with a `title` has that name in the document.
   */
  readonly responses: Readonly<Record<number, TSchema | readonly TSchema[] | null>>;
  /** A write of something that the caller names and that may be new: with `If-None-Match: *` it has to be. For the document. */
  readonly creates?: boolean;
  /** Header fields of its successful responses, for the document. */
  readonly headers?: readonly (keyof typeof RESPONSE_HEADERS)[];
  /** A write that `?dry_run=1` only tries: the route looks at {@link Call.dryRun}, and changes nothing. Without it such a call is rejected. */
  readonly dryRun?: boolean;
  /** Where a call names the upstream that it is about: tokens for this upstream alone may be used for it. Absent: it is not about one. */
  readonly upstream?: { readonly in: 'path' | 'body'; readonly name: string };
  /**
   * A scope that it needs instead of `read` or `write`, which do not include it: for what shows or costs more than any other call. `profile`:
   * state of the process, with contents of its memory.
   */
  readonly scope?: 'profile';
  /** It carries other calls, each of which is checked: a token needs no more than some scope of `read` or `write` for it. */
  readonly carriesCalls?: boolean;
  /** It returns nothing but what every caller may know: a token with any scope may be used for it. */
  readonly open?: boolean;
  /** It has a parameter `fields` of its own in {@link query}, and selects fields by itself. */
  readonly selects?: boolean;
  /** Gives an error of the call, of its form as well, the code and status that clients of another API expect. */
  readonly failure?: (error: ApiError) => ApiError;
  /** Error codes of this route, for the document; beside those of its form (`InvalidField` …), which every route has. */
  readonly errors?: readonly (string | OwnErrorCode)[];
}

/** An error code of the module's own, for the document. Its name should begin with the module's, so that no other has it. */
export interface OwnErrorCode {
  readonly code: string;
  readonly status: number;
  /** Description of the error, a sentence. */
  readonly meaning: string;
}

/** Header fields that successful responses may have, and what they say. */
export const RESPONSE_HEADERS = {
  ETag: 'Version of the resource, for `If-Match` and `If-None-Match`.',
  Location: 'Path of the new resource.',
  Link: 'Path of the next page: `<…>; rel="next"`. Absent on the last one.',
} as const;

/** Error codes of a route that calls the data plane, beside those of the action. */
export const DATA_PLANE_ERRORS = ['DataPlaneUnavailable', 'NotLoaded', 'ResponseTooLong'] as const;

type BodyOf<S extends RouteSchemas> = S extends { body: infer B extends TSchema } ? Static<B> : undefined;
type QueryOf<S extends RouteSchemas> = S extends { query: infer Q extends TSchema } ? Static<Q> : Record<string, never>;

/** Preconditions of a write on the current version (RFC 9110, 13.1). Absent: nothing. `If-Match` compares strongly. */
export interface Preconditions {
  /** `If-Match`: versions, one of which it has to be; `*`: any. */
  readonly ifMatch?: string | undefined;
  /** `If-None-Match`: versions that it must not be; `*`: nothing may be there yet. */
  readonly ifNoneMatch?: string | undefined;
}

/**
 * @param current gives the current version, undefined if there is nothing yet; called if there is something to compare it with
 * @param lists gives the versions of the lists that the resource is in: `If-Match` may name one of them as well
 * @throws ApiError 412 `VersionMismatch`
 */
export function assertPreconditions(
  { ifMatch, ifNoneMatch }: Preconditions,
  current: () => string | undefined,
  lists: () => readonly string[] = () => [],
): void {
  if (ifMatch === undefined && ifNoneMatch === undefined) return;
  const version = current();
  if (
    ifMatch !== undefined &&
    !names(ifMatch, version, false) &&
    (ifMatch.trim() === '*' || !lists().some((list) => names(ifMatch, list, false)))
  )
    throw mismatch(version === undefined ? 'the resource does not exist' : 'the resource has changed', version);
  if (ifNoneMatch !== undefined && names(ifNoneMatch, version, true))
    throw mismatch(ifNoneMatch.trim() === '*' ? 'the resource already exists' : 'the resource still has this version', version);
}

function mismatch(text: string, version: string | undefined): ApiError {
  return new ApiError(412, 'VersionMismatch', text, version === undefined ? [] : [{ version }]);
}

/** @param weak `W/"5"` names the version 5 as well (RFC 9110, 8.8.3.2) */
function names(tags: string, version: string | undefined, weak: boolean): boolean {
  if (version === undefined) return false;
  if (tags.trim() === '*') return true;
  const form = weak ? /^(?:W\/)?"(.*)"$/ : /^"(.*)"$/;
  return tags.split(',').some((tag) => tag.trim().replace(form, '$1') === version);
}

/** Access of the caller of the API, as the location defines it. */
export interface CallAccess {
  readonly by: 'token' | 'certificate' | 'basic' | 'none';
  /** Undefined: all. */
  readonly scopes: readonly string[] | undefined;
  /** `api_read_only`: only dry runs are allowed. */
  readonly isReadOnly: boolean;
}

/** One call of a route, validated. */
export interface Call<S extends RouteSchemas = RouteSchemas> extends Preconditions {
  /** Path of the location that holds the API, to put in front of `/v1/…` in a `Location`. */
  readonly base: string;
  /** Decoded `:name` parts of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: QueryOf<S>;
  readonly body: BodyOf<S>;
  /** `?dry_run=1`: validate and say what would change; change nothing. False unless the route declares `dryRun`. */
  readonly dryRun: boolean;
  /** `Prefer: return=minimal` on a write: its body is not sent, so it need not be made. */
  readonly minimal: boolean;
  /** `Prefer: wait=N` on a write: seconds to wait until all nodes of the cluster have the change; 0: it is not waited for. */
  readonly wait: number;
  readonly requestId: string;
  /** `Last-Event-ID`: where a client of server-sent events goes on. */
  readonly lastEventId?: string | undefined;
  /** `Accept`: for a route with responses of several types. */
  readonly accept?: string | undefined;
  /** The caller, for the history. */
  readonly actor: string;
  /** Access of the caller, for clients that want to know it beforehand. */
  readonly access: CallAccess;
  /** `Change-Message` of a write: why it is made. */
  readonly message?: string | undefined;
  /** Takes the change that the call has made, for the audit log; what calls the data plane passes it on with the call. */
  readonly applied: (change: AppliedChange) => void;
  /** The request as it came: nothing to look into, but what stands for its client elsewhere. */
  readonly request: object;
}

/** A response. `body` undefined: empty. A string with `type` goes out as it is; everything else as JSON. */
export interface Reply {
  readonly status: number;
  readonly body?: unknown;
  readonly type?: string;
  /** In the place of a body: pieces of text or bytes that are asked for as fast as the client takes them. Not begun for HEAD. */
  readonly stream?: AsyncIterable<Uint8Array | string>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Goes out as `ETag`; the caller may send it back as `If-Match`. */
  readonly version?: string;
  /** `after` of the page that follows this one; goes out as `Link: <…>; rel="next"`. */
  readonly next?: string;
}

/** The response to a write that was only tried (`?dry_run=1`): the change as lines of a configuration diff. */
export function dryRunReply(diff: readonly string[]): Reply {
  return { status: 200, body: { dry_run: true, diff } };
}

export interface RouteDeclaration {
  readonly verb: Verb;
  /** Below `/v1/`, `:name` for a part: `/http/upstreams/:upstream/servers/:id`. */
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

/** A change of the configuration, in a form that has no secrets. */
export interface AppliedChange {
  /** Version of the configuration after it. */
  readonly version: number;
  /** Where directives were added, changed and removed: `+ http / upstream demo / server@7`. The first ones of many. */
  readonly summary: readonly string[];
  /** How many there are in all. */
  readonly count: number;
  /** The nodes that have it. Absent: this node changes its configuration alone. */
  readonly cluster?: ClusterOutcome;
}

const ACTIONS = Symbol.for('srv:actions');
const TRANSACTIONAL = Symbol.for('srv:transactional-actions');
export interface ActionContext extends Preconditions {
  readonly dryRun: boolean;
  readonly requestId: string;
  /** Name of a token, subject of a certificate, user name, or `anonymous`. Absent: the server itself. */
  readonly actor?: string;
  /** Why the caller makes it, in its own words: of one line, for the history and events. */
  readonly message?: string | undefined;
  /** `Prefer: wait=N`: seconds to wait until all nodes have the change. Absent: it is not waited for. */
  readonly wait?: number;
  /** Called once the change is active. */
  readonly applied?: (change: AppliedChange) => void;
  /** Epoch milliseconds after which the caller does not wait any more: nothing may be changed for it then. */
  readonly deadline?: number;
  /** Extends the caller's time limit: it waits until this number of milliseconds from now. */
  readonly extendDeadline?: (ms: number) => void;
}

/**
 * Gives an action more time before work that holds up its thread: its caller is notified, and waits.
 * @param ms milliseconds
 * @returns the context with the later deadline
 */
export async function moreTime(context: ActionContext, ms: number): Promise<ActionContext> {
  const { deadline = Infinity, extendDeadline } = context;
  if (extendDeadline === undefined) return context;
  const later = deadline + ms;
  extendDeadline(later - Date.now());
  // The message has to leave first.
  await setImmediate();
  return { ...context, deadline: later };
}

/**
 * Makes a method of a data-plane module callable from the control plane as `name` (see `DataPlane.call`). It runs in the master; what
 * it throws as {@link ApiError} reaches the caller, anything else becomes `InternalError` and is logged. It may take 10 seconds, and what it has
 * asked for ({@link moreTime}); what keeps the thread busy for longer is ended, without its `finally` and `catch`.
 */
export function action(name: string, { transactional = false }: ActionOptions = {}) {
  return <M extends (params: never, context: ActionContext) => unknown>(
    target: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<M>,
  ): void => {
    const actions = (Reflect.getMetadata(ACTIONS, target) as Map<string, string> | undefined) ?? new Map<string, string>();
    if (actions.has(name)) throw new Error(`action "${name}" is declared twice, by "${actions.get(name)}" and "${method}"`);
    Reflect.defineMetadata(ACTIONS, new Map(actions).set(name, method), target);
    if (transactional) Reflect.defineMetadata(TRANSACTIONAL, new Set([...transactionalActionsOf(target), name]), target);
  };
}

/** Options of {@link action}. */
export interface ActionOptions {
  /**
   * It may be part of a transaction of several calls: all of its effects are changes of the configuration (`Transactions.apply`), and steps that
   * wait for them (`Transactions.whenInForce`). A call of another action in a transaction is rejected with `NotTransactional`, because its
   * effects would stay when the transaction fails or is a dry run.
   */
  readonly transactional?: boolean;
}

/** Names of the actions that may be part of a transaction. */
export function transactionalActionsOf(module: object): ReadonlySet<string> {
  return (Reflect.getMetadata(TRANSACTIONAL, module) as ReadonlySet<string> | undefined) ?? new Set();
}

/** Action names and the methods that carry them out. */
export function actionsOf(module: object): ReadonlyMap<string, string> {
  return (Reflect.getMetadata(ACTIONS, module) as ReadonlyMap<string, string> | undefined) ?? new Map<string, string>();
}
