/** The REST API, for modules whose directives bring it into a server or whose routes call others. */
import type { ApiAccessSettings } from './api-access.js';
import type { Call, Preconditions } from './control.js';
import type { ErrorBody, HttpHandlers, HttpRequest, Scope } from './http.js';

/** The REST API of this control-plane process: all routes of all loaded control modules. */
export abstract class ApiRoutes {
  /** Keys of the control modules, the first parts of paths below `/v1/`, and of the settings. */
  abstract readonly keys: ReadonlySet<string>;
  /** Keys of the settings, in order. */
  abstract readonly settings: readonly string[];
  /** The handlers of a location that holds the API or a part of it. @throws ConfigError where anybody could use it */
  abstract location(place: ApiPlace): HttpHandlers;
  /** The error handler of a server with such locations, for requests that no location was found for. */
  abstract errors(places: readonly ApiPlace[]): (request: HttpRequest, status: number) => ErrorBody;
  /**
   * Authentication that a location with the API requires. To be called while the location is compiled, before {@link location} is.
   * @param settings called where the location holds the API
   */
  abstract protect(scope: Scope, settings: () => ApiAccessSettings): void;
  /**
   * Carries out calls that change the configuration as one change, all or none. Each goes through its own route, with the rights of the
   * client that sent `call`, and sees what those before it made. Nothing has changed if a response is an error, and in a dry run.
   * @throws ApiError what concerns no single call: 412 `VersionMismatch`, 503 `DataPlaneUnavailable`
   */
  abstract transact(call: Call, calls: readonly CarriedCall[]): Promise<CarriedOut>;
}

/** A call that another one carries. */
export interface CarriedCall extends Preconditions {
  readonly method: string;
  /** From `/v1/` on, with its query. */
  readonly path: string;
  readonly body?: unknown;
}

export interface CarriedOut {
  /** Of the configuration. */
  readonly version: number;
  /** In the order of the calls. One that is not wrong has 424 `NotApplied` where another one is. */
  readonly responses: readonly CarriedResponse[];
  /** Of a dry run, see {@link Applied.diff}. */
  readonly diff: readonly string[];
}

export interface CarriedResponse {
  readonly status: number;
  /** `ETag` and `Location`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A location that holds the API, or a part of it. */
export interface ApiPlace {
  /** The location: its path is in front of {@link root} in the URLs of the API. */
  readonly scope: Scope;
  /** Empty for the whole API, `/v1/kv` for the part of one module. */
  readonly root: string;
}
