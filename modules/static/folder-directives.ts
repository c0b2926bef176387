import { choice, flag } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** Responses for a folder (ngx_http_autoindex_module, ngx_http_random_index_module). */
export const folderDirectives = {
  autoindex: directive({ in: ANYWHERE, args: flag(), default: 'off', doc: 'Lists the files of a folder that has no index file.' }),
  autoindex_format: directive({
    in: ANYWHERE,
    args: choice('html', 'xml', 'json', 'jsonp'),
    default: 'html',
    doc: 'Format of the list; with jsonp the argument `callback` of a request names the function.',
  }),
  autoindex_exact_size: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Sizes in the HTML list are in bytes (on), or rounded to kilobytes, megabytes and gigabytes (off).',
  }),
  autoindex_localtime: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Times in the HTML list are local times instead of UTC.',
  }),
  random_index: directive({ in: ['location'], args: flag(), default: 'off', doc: 'Sends a random file of a folder.' }),
};
