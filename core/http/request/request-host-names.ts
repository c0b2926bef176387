import type { HttpRequest } from '../../contract/http.js';
import { HostNames } from '../../contract/host-names.js';
import type { SystemHostNames } from '../../net/host-names.js';
import type { Request } from './request.js';

/** The {@link HostNames} service: uses the `resolver` of a request's location, otherwise the name servers of the system. */
export class RequestHostNames extends HostNames {
  constructor(private readonly system: SystemHostNames) {
    super();
  }

  resolve(name: string, request?: HttpRequest): Promise<readonly string[]> {
    return this.system.resolve(name, (request as Request | undefined)?.location.settings.resolver);
  }
}
