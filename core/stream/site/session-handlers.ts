import type { ModuleDeclaration } from '../../contract/manifest.js';
import { STREAM_PHASES, type StreamHandler, type StreamHandlers, type StreamPhase } from '../../contract/stream.js';
import type { Directive } from '../../contract/tree.js';
import { HandlerSet, inOrder } from '../../run/handler-set.js';
import type { SessionSteps } from './server.js';

/** Handlers of modules in one server. */
export class SessionHandlers extends HandlerSet<StreamPhase, StreamHandler, NonNullable<StreamHandlers['log']>> {
  readonly attemptHandlers: NonNullable<StreamHandlers['memberAttempt']>[] = [];

  constructor() {
    super(STREAM_PHASES, 'server');
  }

  /** See {@link HandlerSet.collect}. */
  add({ manifest }: ModuleDeclaration, handlers: StreamHandlers, place: number, server: Directive): void {
    this.collect(manifest, handlers, place, server);
    if (handlers.memberAttempt) this.attemptHandlers.push(handlers.memberAttempt);
  }

  get steps(): SessionSteps {
    const steps = STREAM_PHASES.flatMap((_, phase) => inOrder(this.inPhase(phase)).map(({ place, run }) => ({ phase, place, run })));
    return {
      handlers: steps.map(({ run }) => run),
      phases: Uint8Array.from(steps, ({ phase }) => phase),
      places: Uint16Array.from(steps, ({ place }) => place),
    };
  }
}
