import type { Bindings } from '../../core/contract/affinity.js';
import type { UpstreamPeer } from '../../core/contract/balancer.js';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import { RouteIndex } from './route-index.js';

/** `sticky route`: the first text that is not empty names the member. */
export class ByRoute implements Bindings {
  protected readonly routes = new RouteIndex();

  constructor(private readonly texts: readonly Template[]) {}

  find(request: HttpRequest): UpstreamPeer | undefined {
    for (const text of this.texts) {
      const route = text.of(request);
      if (route !== '') return this.routes.find(route);
    }
    return undefined;
  }

  added(peer: UpstreamPeer): void {
    this.routes.add(peer);
  }

  changed(peer: UpstreamPeer): void {
    this.routes.change(peer);
  }

  removed(peer: UpstreamPeer): void {
    this.routes.remove(peer);
  }
}
