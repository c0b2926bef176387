/** Rows of behaviours: what a member responds, what a client asks, and what it gets. */

/** One request. Fields are `Name: value`; `{-60}` in a value is the HTTP date 60 seconds ago, `{0}` now. */
export interface Step {
  readonly method?: string;
  /** Added to the path of the row. */
  readonly path?: string;
  /** Fields of the request. */
  readonly asks?: readonly string[];
  /** Status, fields and body of the member, if it is asked: those of the step before, if the step does not say. `cut`: it closes the connection. */
  readonly status?: number | 'cut';
  readonly fields?: readonly string[];
  readonly body?: string;
  /** The member does not say how long the body is. */
  readonly isChunked?: boolean;
  /** `stored`: nothing of this request reaches the member. `member`: it does, and the client gets that response. `validated`: as conditional one. */
  readonly from?: 'stored' | 'member' | 'validated';
  /** The response is stored since an earlier step: there is nothing to wait for. */
  readonly isSettled?: boolean;
  /** Status that the client gets. Default: that of the member's response. */
  readonly gets?: number;
  /** Fields that it gets; `!Name`: that it does not get. A value in slashes is a regular expression. */
  readonly has?: readonly string[];
  readonly hasBody?: string;
  /** Fields that the member gets, as in `has`. */
  readonly sent?: readonly string[];
  /** The number of requests that the member gets. */
  readonly requests?: number;
  /** The method that the member gets. */
  readonly sentMethod?: string;
  /** Milliseconds before it. */
  readonly after?: number;
}

export interface Row {
  /** Section of the RFC. */
  readonly rule: string;
  readonly what: string;
  /** Location of the test's server, default `/`. */
  readonly at?: string;
  readonly steps: readonly Step[];
}

/** A behaviour with the steps that show it. */
export function row(rule: string, what: string, ...steps: readonly Step[]): Row {
  return { rule, what, steps };
}

/** The first request, whose response of the member has these fields. */
export function first(...fields: readonly string[]): Step {
  return { fields, from: 'member' };
}

/** The response comes from the cache. */
export function stored(more: Step = {}): Step {
  return { ...more, from: 'stored' };
}

/** The response that came from the cache before comes from there again. */
export function still(more: Step = {}): Step {
  return { ...more, from: 'stored', isSettled: true };
}

/** The response comes from the member. */
export function asked(more: Step = {}): Step {
  return { ...more, from: 'member' };
}

/** The stored response after a 304 of the member. */
export function validated(more: Step = {}): Step {
  return { ...more, from: 'validated' };
}
