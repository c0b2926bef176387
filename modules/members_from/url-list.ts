import { isIP } from 'node:net';
import type { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import type { HostNames } from '../../core/contract/host-names.js';
import type { ServerList } from './followed-list.js';
import { ListError } from './list-error.js';

const OK = 200;
const NOT_MODIFIED = 304;
const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** A list that a server of HTTP has. Redirects are not followed. */
export class UrlList implements ServerList {
  readonly title: string;
  #etag: string | undefined;

  constructor(
    private readonly url: URL,
    private readonly names: HostNames,
    private readonly guard: ControlPlaneGuard,
  ) {
    this.title = `"${url.origin}${url.pathname}"`;
  }

  async read(most: number, signal: AbortSignal): Promise<string | undefined> {
    // Most servers have no such list.
    const { Client } = await import('undici');
    const { url } = this;
    const host = await this.#addressOf(signal);
    const isName = isIP(this.#hostname) === 0;
    const origin = `${url.protocol}//${host.includes(':') ? `[${host}]` : host}:${this.#port}`;
    // A list is read every few seconds at most: no connection is kept.
    const client = new Client(origin, { connect: { ...(isName && { servername: this.#hostname }) }, maxResponseSize: most });
    try {
      const headers = { host: url.host, accept: 'application/json', ...(this.#etag !== undefined && { 'if-none-match': this.#etag }) };
      const response = await client.request({ method: 'GET', path: `${url.pathname}${url.search}`, headers, signal });
      if (response.statusCode === NOT_MODIFIED && this.#etag !== undefined) return undefined;
      if (response.statusCode !== OK) throw new ListError(`the status of the response is ${response.statusCode}`);
      const text = await response.body.text();
      const { etag } = response.headers;
      this.#etag = typeof etag === 'string' ? etag : undefined;
      return text;
    } catch (error) {
      throw (error as { code?: string }).code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' ? new ListError(`it has more than ${most} bytes`) : error;
    } finally {
      await client.destroy();
    }
  }

  forget(): void {
    this.#etag = undefined;
  }

  get #hostname(): string {
    return this.url.hostname.replace(/^\[|\]$/g, '');
  }

  get #port(): number {
    return this.url.port === '' ? PORTS[this.url.protocol]! : Number(this.url.port);
  }

  /** The address to connect to. @throws ListError where it is that of the control plane */
  async #addressOf(signal: AbortSignal): Promise<string> {
    const hostname = this.#hostname;
    const [host] = isIP(hostname) === 0 ? await this.names.resolve(hostname) : [hostname];
    signal.throwIfAborted();
    if (host === undefined) throw new ListError(`${hostname} has no address`);
    const rejection = this.guard.rejection({ host, port: this.#port });
    if (rejection !== undefined) throw new ListError(rejection);
    return host;
  }
}
