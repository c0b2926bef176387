/** Notes for unit tests of what a module says of a request: `explain.access(request, notes)`. */
import type { ExplainedUpstream, ExplainNotes, Facts } from '../core/contract/explain.js';
import { DONE, type Result } from '../core/contract/http.js';

/** Keeps its notes. */
export class FakeNotes implements ExplainNotes {
  readonly said: { readonly text: string; readonly facts: Facts | undefined }[] = [];
  readonly assumed: string[] = [];
  /** Lines of the error log, `[level] text`. */
  readonly log: string[] = [];
  /** Arguments of {@link end}. */
  ended: { readonly text: string; readonly status: number | undefined } | undefined;
  /** Arguments of {@link pass}. */
  passed: ExplainedUpstream | undefined;

  say(text: string, facts?: Facts): void {
    this.said.push({ text, facts });
  }

  assume(text: string): void {
    this.assumed.push(text);
  }

  end(text: string, status?: number): Result {
    this.ended = { text, status };
    return DONE;
  }

  pass(upstream: ExplainedUpstream): Result {
    this.passed = upstream;
    return DONE;
  }

  logged(level: string, text: string): void {
    this.log.push(`[${level}] ${text}`);
  }
}
