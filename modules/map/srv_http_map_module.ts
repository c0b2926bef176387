import type { VariableGetter } from '../../core/contract/http.js';
import { httpModule, type DefinitionContext } from '../../core/contract/manifest.js';
import { mapDirectives, mapVariables } from '../../core/toolkit/map.js';
import type { Directive } from '../../core/contract/tree.js';

/** Variables that depend on others (ngx_http_map_module). */
@httpModule({ name: 'srv_http_map_module', api: 1, directives: mapDirectives('http') })
export class MapVariables {
  compileVariables(line: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined {
    return mapVariables(line, context);
  }
}
