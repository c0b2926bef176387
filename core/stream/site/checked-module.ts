import type { Log } from '../../contract/log.js';
import type { TlsSettings } from '../../contract/manifest.js';
import { STREAM_PHASES, type StreamHandlers, type StreamScope } from '../../contract/stream.js';
import { wordHint } from '../../contract/suggest.js';
import { CheckedHooks, type UncheckedModule } from '../../run/checked-hooks.js';

const HANDLERS: readonly string[] = [...STREAM_PHASES, 'content', 'memberAttempt', 'log'];

/** A module for the compiler of `stream`. */
export class CheckedStreamModule extends CheckedHooks<StreamScope, StreamHandlers> {
  constructor(module: UncheckedModule<StreamScope>, log: Log) {
    super(module, log, 'session');
  }

  compile(scope: StreamScope): StreamHandlers | undefined {
    return this.handlers('compile', scope);
  }

  compileTls(scope: StreamScope): TlsSettings | undefined {
    return this.tls(scope);
  }

  protected check(step: 'compile', scope: StreamScope, name: string, handler: unknown): void {
    if (!HANDLERS.includes(name)) {
      const message = `"${step}" of module "${this.name}" returns an unknown handler "${name}"`;
      throw this.error(scope, message, wordHint(name, HANDLERS));
    }
    this.assertFunction(scope, name, handler);
  }
}
