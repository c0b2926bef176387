import type { ExchangePlan } from '../../contract/exchanges.js';
import type { ResponseBuffering } from '../../contract/response-buffering.js';
import { FieldFilters } from '../../net/http1/fields.js';
import { DEFAULT_HEAD_LIMITS, type HeadLimits } from '../../net/http1/message-head.js';
import { TlsClients } from '../../net/tls-clients.js';
import { type StorePlan, TemporaryPath } from '../site/temporary-path.js';
import { ResponseFields } from './response-fields.js';

/** Bytes of a response that is stored for modules which may wait for the disk. */
const COPY_WRITE_AHEAD = 1_048_576;

/** Limits that follow from the settings of buffering. */
export interface BufferingLimits {
  readonly head: HeadLimits;
  /** Where responses wait for slow clients. */
  readonly responseStore: StorePlan;
  /** Where they are stored for modules. */
  readonly copyStore: StorePlan;
}

/** Parts that routes share: there may be thousands of routes with the same settings. */
export class RoutesInCommon {
  readonly tlsClients = new TlsClients();
  readonly filters = new FieldFilters();
  /** Scratch of all routes, for the response that has just arrived. */
  readonly fields = new ResponseFields();
  readonly #limits = new WeakMap<ResponseBuffering, BufferingLimits>();

  limitsOf({ buffering }: ExchangePlan): BufferingLimits {
    const known = this.#limits.get(buffering);
    if (known !== undefined) return known;
    const limits = bufferingLimits(buffering);
    this.#limits.set(buffering, limits);
    return limits;
  }
}

function bufferingLimits({ headSize, memory, maxFileSize, folder, levels, writeSize }: ResponseBuffering): BufferingLimits {
  const responseStore: StorePlan = {
    memory,
    maxFileSize,
    fileHoldsAll: false,
    // One piece of each response is on its way to the disk: there may be many responses.
    writeAhead: 0,
    file: {
      path: new TemporaryPath(folder, levels),
      name: 'none',
      writeSize,
      level: 'warn',
      what: 'an upstream response is buffered to a temporary file',
      when: ' while reading upstream',
    },
  };
  return {
    head: { ...DEFAULT_HEAD_LIMITS, line: headSize, field: headSize, total: headSize },
    responseStore,
    // Storing the response must not delay the client: nginx has no limit for such a file either.
    copyStore: { ...responseStore, maxFileSize: Infinity, writeAhead: COPY_WRITE_AHEAD },
  };
}
