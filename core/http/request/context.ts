import type { Log } from '../../contract/log.js';
import type { Clock } from '../../net/clock.js';
import { HeadEnd } from '../../net/http1/head-end.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import { parseRequestHead, RequestHead } from '../../net/http1/request-head.js';
import { HuffmanScratch } from '../../net/http2/hpack-decoder.js';
import { HpackEncoder } from '../../net/http2/hpack-encoder.js';
import { ResponseHead } from '../../net/http1/response-head.js';
import { RequestUri } from '../../net/http1/uri.js';
import type { TimerWheel } from '../../net/timers.js';
import type { Transport } from '../../net/transport/transport.js';
import { OpenDescriptors } from '../../net/transport/open-descriptors.js';
import { Transports } from '../../net/transport/transports.js';
import type { RequestFlow } from './client-stream.js';
import type { TrafficFigures } from './figures.js';
import { Generations } from '../../config/generations.js';
import { OwnRequestSet } from './own-request-set.js';
import type { Admission } from '../../net/admission.js';
import { ControlListeners } from '../../net/control-listeners.js';
import type { IdleClients } from '../../net/idle-clients.js';
import { ReadBuffers } from '../../net/buffers.js';
import { Dialer } from '../../net/dialer.js';
import { ListenerDirectory } from '../../net/listener-directory.js';

/** Fields the engine puts into every response. */
export const enum OwnField {
  Server = 1,
  Date = 2,
  All = 3,
}

/** A request whose head may be in the scratch of the parser. */
interface HeadOwner {
  readonly text: string;
  readonly headLimits: HeadLimits;
}

/** Shared parts of all connections of one thread. Nothing here outlives a turn of the event loop except counters and timers. */
export class HttpContext {
  /** Scratch of the parser. `headOwner` is the request whose fields it holds; code that needs others parses again. */
  readonly head = new RequestHead();
  headOwner: HeadOwner | undefined = undefined;
  readonly responseHead = new ResponseHead();
  /** Scratch of connections whose heads come whole; one that has to wait keeps it and leaves a new one. */
  headEnd = new HeadEnd();
  /** No empty lines come before a response. */
  readonly responseEnd = new HeadEnd(0);
  readonly uri = new RequestUri();
  readonly buffers = new ReadBuffers();
  readonly transports: Transports;
  /** Makes connections other than those of traffic. */
  readonly dialer: Dialer;
  readonly listeners = new ListenerDirectory();
  readonly generations = new Generations();
  readonly ownRequests = new OwnRequestSet();
  /** Encodes the heads of responses over HTTP/2. */
  readonly hpack = new HpackEncoder();
  readonly huffman = new HuffmanScratch();
  #commonSecond = 0;
  #commonToken = '';
  #common = '';
  #lastConnection = 0;
  #lastTemporaryFile = 0;

  constructor(
    readonly clock: Clock,
    readonly timers: TimerWheel,
    readonly log: Log,
    readonly figures: TrafficFigures,
    readonly admission: Admission,
    readonly flow: RequestFlow,
    readonly controlListeners = new ControlListeners(),
    open = new OpenDescriptors(),
  ) {
    this.transports = new Transports(log, open, clock);
    this.dialer = new Dialer(this.transports, this.buffers);
  }

  get transport(): Transport {
    return this.transports.current;
  }

  get idleClients(): IdleClients {
    return this.admission.idleClients;
  }

  /** The fields of `owner` in the scratch of the parser. */
  headOf(owner: HeadOwner): RequestHead {
    const { head } = this;
    if (this.headOwner !== owner) {
      // Its fields were counted when it came.
      parseRequestHead(head, owner.text, owner.headLimits, Infinity);
      this.headOwner = owner;
    }
    return head;
  }

  nextConnectionId(): number {
    return ++this.#lastConnection;
  }

  nextTemporaryFile(): number {
    return ++this.#lastTemporaryFile;
  }

  /**
   * The fields every response starts with, made once a second.
   * @param own flags of {@link OwnField}
   */
  commonFields(token: string, own: number): string {
    if (own !== OwnField.All)
      return `${own & OwnField.Server ? `Server: ${token}\r\n` : ''}${own & OwnField.Date ? `Date: ${this.clock.httpDate()}\r\n` : ''}`;
    const second = Math.floor(this.clock.now / 1000);
    if (second !== this.#commonSecond || token !== this.#commonToken) {
      this.#commonSecond = second;
      this.#commonToken = token;
      this.#common = `Server: ${token}\r\nDate: ${this.clock.httpDate()}\r\n`;
    }
    return this.#common;
  }
}
