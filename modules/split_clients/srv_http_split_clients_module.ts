import type { VariableGetter } from '../../core/contract/http.js';
import { httpModule, type DefinitionContext } from '../../core/contract/manifest.js';
import { splitClientsDirectives, splitClientsVariables } from '../../core/toolkit/split-clients.js';
import type { Directive } from '../../core/contract/tree.js';

/** Variables that split clients into groups of given sizes (ngx_http_split_clients_module). */
@httpModule({ name: 'srv_http_split_clients_module', api: 1, directives: splitClientsDirectives('http') })
export class SplitClients {
  compileVariables(line: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined {
    return splitClientsVariables(line, context);
  }
}
