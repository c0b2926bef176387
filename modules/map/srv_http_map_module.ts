import type { VariableGetter } from '../core/module/http.js';
import { httpModule, type DefinitionContext } from '../core/module/manifest.js';
import { mapDirectives, mapVariables } from '../core/module/map.js';
import type { Directive } from '../core/module/tree.js';

/** Variables that depend on others (ngx_http_map_module). */
@httpModule({ name: 'srv_http_map_module', api: 1, directives: mapDirectives('http') })
export class MapVariables {
  compileVariables(line: Directive, context: DefinitionContext): Readonly<Record<string, VariableGetter>> | undefined {
    return mapVariables(line, context);
  }
}
