/** How a request would be handled, without an effect: `srv explain`, `srv test`, `GET /v1/explain`. */
import type { HttpRequest, Phase, Result } from './http.js';

/** Takes what a module has to say of a request that is only explained. */
export interface ExplainNotes {
  /**
   * Adds a line to the explanation: what was decided and why, or what would be done. Strings of bytes (latin1), as requests have them.
   * @param facts the same for programs: plain JSON
   */
  say(text: string, facts?: Facts): void;
  /** Adds an assumption about something that cannot be determined without doing it: "the password is right". */
  assume(text: string): void;
  /**
   * The handler would respond itself: `return notes.end('a page with figures', 200)`.
   * @param status absent: it cannot be known
   * @returns {@link DONE}
   */
  end(text: string, status?: number): Result;
  /** The request would be passed on. For the engine: `Exchanges.explain`. @returns {@link DONE} */
  pass(upstream: ExplainedUpstream): Result;
  /** For the error log: what would be written there. */
  logged(level: string, text: string): void;
}

export type Facts = Readonly<Record<string, unknown>>;

/**
 * Does what the handler would do as far as it has no effect outside of the request, says so, and gives the handler's result. It must not
 * wait, count, send or log. `'run'`: the handler itself is like that.
 */
export type ExplainHandler = ((request: HttpRequest, notes: ExplainNotes) => Result) | 'run';

/** The handlers that can be explained. */
export type Explainers = Readonly<
  Partial<Record<Phase | 'connect' | 'content' | 'defaultContent', ExplainHandler>> & {
    /** Another result than {@link DECLINED}: no member is asked. */
    memberRequest?: Exclude<ExplainHandler, 'run'>;
  }
>;

/** A request to explain. */
export interface ExplainQuestion {
  /** Default: `GET`. */
  readonly method?: string;
  /** `http://host:port/path?args`, or a path with a `Host` among the headers. */
  readonly url: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** Address of the client. Default: 127.0.0.1. */
  readonly client?: string;
  /** Address that the client connects to, as `listen` names it. Default: the one that the URL names. */
  readonly listen?: string;
  /** Most locations that are listed as rejected, for each choice. Default: 20. */
  readonly candidates?: number;
}

/** Where a directive is written. */
export interface ExplainedPlace {
  readonly file: string;
  readonly line: number;
}

export interface ExplainedListener {
  readonly address: string;
  readonly secure: boolean;
  readonly why: string;
}

export interface ExplainedServer {
  /** First of its names; empty: it has none. */
  readonly name: string;
  readonly names: readonly string[];
  /** Reason of the choice. */
  readonly by: 'exact' | 'leading wildcard' | 'trailing wildcard' | 'regex' | 'default' | 'only';
  readonly why: string;
  readonly place?: ExplainedPlace;
}

/** A location that could have been chosen. */
export interface ExplainedCandidate {
  /** Modifier and name, as they are written. */
  readonly location: string;
  readonly why: string;
  /** The path fits it, but another one comes first. */
  readonly matches: boolean;
  readonly place?: ExplainedPlace;
}

/** One choice of a location: a request makes one, and another after each redirect inside the server. */
export interface ExplainedLocation {
  /** Undefined: none matches, and the server's own settings count. */
  readonly location?: string;
  readonly uri: string;
  readonly why: string;
  readonly place?: ExplainedPlace;
  readonly rejected: readonly ExplainedCandidate[];
  /** Further ones that are not listed. */
  readonly more: number;
}

export interface ExplainedStep {
  /** A phase of the contract; `location`: a location was chosen; `redirect`, `error_page`: the request starts again. */
  readonly phase: Phase | 'content' | 'location' | 'redirect' | 'error_page' | 'response';
  readonly module?: string;
  readonly text: string;
  readonly facts?: Facts;
}

export interface ExplainedMember {
  readonly server: string;
  readonly state: string;
  readonly weight: number;
  readonly backup: boolean;
  readonly active: number;
  /** It could be picked now. */
  readonly usable: boolean;
}

/** A request as an upstream would get it. */
export interface ExplainedUpstream {
  readonly name: string;
  /** Protocol of the members: `http`, `https`, `grpc`, `grpcs`, `fastcgi`, and `tcp` of tunnels. */
  readonly scheme: string;
  readonly method: string;
  readonly uri: string;
  /** Of HTTP; empty: another protocol. */
  readonly version: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The balancing method: `round robin`, or the directive. */
  readonly balancing: string;
  /** As many as are listed. */
  readonly members: readonly ExplainedMember[];
  /** Members not listed. */
  readonly more: number;
  /** The member that is chosen, where that follows from the request. */
  readonly member?: string;
}

export interface ExplainedResponse {
  /** `connection`: it is closed without a response. `module`: one that does not say. */
  readonly by: 'srv' | 'upstream' | 'connection' | 'module';
  /** Undefined: it cannot be known. */
  readonly status?: number;
  readonly location?: string;
  readonly text: string;
}

/** Plain JSON. */
export interface Explanation {
  readonly request: { readonly method: string; readonly url: string; readonly host: string; readonly uri: string; readonly client: string };
  readonly listener: ExplainedListener;
  /** Undefined: the request is malformed. */
  readonly server?: ExplainedServer;
  readonly locations: readonly ExplainedLocation[];
  readonly steps: readonly ExplainedStep[];
  readonly response: ExplainedResponse;
  readonly upstream?: ExplainedUpstream;
  readonly assumptions: readonly string[];
  /** Lines that the error log would get. */
  readonly log: readonly string[];
}

/** A question that has no meaning: no URL, an address where nothing listens. The message says what to do. */
export class ExplainError extends Error {
  constructor(
    message: string,
    /** The part of the question. */
    readonly part: keyof ExplainQuestion,
  ) {
    super(message);
  }
}

/** Explains requests with the code that serves them. In the master, and where a configuration is checked. */
export abstract class Explainer {
  /** @throws ExplainError */
  abstract explain(question: ExplainQuestion): Explanation;
}
