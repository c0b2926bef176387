import { size } from '../../contract/args.js';
import { ArgError, directive, type ArgType } from '../../contract/spec.js';
import { temporaryFolder } from '../../toolkit/temporary-folder.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** Limits of nginx's memory pools. */
const LEAST_POOL = 112;
const POOL_ALIGNMENT = 16;

function poolSize(): ArgType<number> {
  const bytes = size();
  return {
    ...bytes,
    parse(value, context) {
      const result = bytes.parse(value, context);
      if (result < LEAST_POOL) throw new ArgError(`the pool size must be no less than ${LEAST_POOL}`);
      if (result % POOL_ALIGNMENT > 0) throw new ArgError(`the pool size must be a multiple of ${POOL_ALIGNMENT}`);
      return result;
    },
  };
}

function unusedFolder(name: string, protocol: string) {
  return directive({ in: ANYWHERE, args: temporaryFolder(name), doc: `Accepted: this version does not pass requests on by ${protocol}.` });
}

/** Directives of nginx that real configurations have, and that have nothing to do here. */
export const acceptedDirectives = {
  connection_pool_size: directive({ in: ['http', 'server'], args: poolSize(), doc: 'Accepted: Node.js manages memory.' }),
  request_pool_size: directive({ in: ['http', 'server'], args: poolSize(), doc: 'Accepted: Node.js manages memory.' }),
  postpone_output: directive({ in: ANYWHERE, args: size(), doc: 'Accepted: the head leaves with the first bytes of the body.' }),
  subrequest_output_buffer_size: directive({
    in: ANYWHERE,
    args: size(),
    doc: 'Accepted: the response to a subrequest takes the memory that it needs, at most 1m.',
  }),
  uwsgi_temp_path: unusedFolder('uwsgi_temp_path', 'uwsgi'),
  scgi_temp_path: unusedFolder('scgi_temp_path', 'SCGI'),
};
