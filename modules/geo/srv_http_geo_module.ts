import { geoDirectives, geoVariables, type GeoSource } from '../../core/toolkit/geo.js';
import type { HttpRequest, VariableGetter } from '../../core/contract/http.js';
import { httpModule, type DefinitionContext } from '../../core/contract/manifest.js';
import { forwardedClient } from '../../core/contract/network.js';
import type { Directive } from '../../core/contract/tree.js';

const PROXIES = ', proxy names networks whose X-Forwarded-For has the address, of which proxy_recursive takes the last that is not theirs';

const SOURCE: GeoSource<HttpRequest> = {
  client: ({ connection }) => connection.remoteAddress,
  behindProxies: (request, address, { isProxy, isRecursive }) =>
    (isProxy && forwardedClient(request.header('x-forwarded-for'), address, isProxy, isRecursive)?.address) ?? address,
};

/** Variables that depend on addresses (ngx_http_geo_module). */
@httpModule({ name: 'srv_http_geo_module', api: 1, directives: geoDirectives('http', PROXIES) })
export class GeoVariables {
  compileVariables(line: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined {
    return geoVariables(line, context, SOURCE);
  }
}
