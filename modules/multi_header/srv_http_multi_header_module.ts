import { fieldName, rest, template, word } from '../../core/contract/args.js';
import { isSuccess, type HttpHandlers, type LocationScope } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  add_more_header: directive({
    in: ['http', 'server', 'location'],
    args: { name: fieldName(), values: rest(template('value')), always: word('always') },
    many: true,
    doc: 'Adds one field line for every value, in order.',
  }),
};

/** Several fields of one name in one line of the configuration. The smallest module that shows the whole contract. */
@httpModule({ name: 'srv_http_multi_header_module', api: 1, plane: 'both', directives })
export class MultiHeader {
  /** Called once for each location when the tree changes. Returns what runs there, or nothing: then it costs nothing. */
  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const lines = scope.conf.add_more_header;
    if (lines.length === 0) return undefined;
    return {
      header(request) {
        const success = isSuccess(request.status);
        for (const { name, values, always } of lines) {
          if (!always && !success) continue;
          for (const value of values) request.response.append(name, value.of(request));
        }
      },
    };
  }
}
