import type { HttpRequest } from '../../module/http.js';
import { HostNames } from '../../module/services.js';
import type { SystemHostNames } from '../../net/host-names.js';
import type { Request } from './request.js';

/** The {@link HostNames} service: asks the `resolver` in force where a request is, otherwise what the system would ask. */
export class RequestHostNames extends HostNames {
  constructor(private readonly system: SystemHostNames) {
    super();
  }

  resolve(name: string, request?: HttpRequest): Promise<readonly string[]> {
    return this.system.resolve(name, (request as Request | undefined)?.location.settings.resolver);
  }
}
