import { argType } from '../../core/contract/arg-type.js';
import { flag, optional, choice, template, text } from '../../core/contract/args.js';
import type { LocationScope } from '../../core/contract/http.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { exchangeDirectives } from '../../core/toolkit/exchange/directives.js';
import { storeDirectives } from '../../core/toolkit/exchange/response-store.js';
import { compilePattern, namedGroups } from '../../core/toolkit/pattern.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** A regular expression with two groups: the name of the script and what follows it. */
function splitPattern(): ArgType<RegExp> {
  return argType({
    kind: 'text',
    form: 'regex',
    parse(value) {
      const pattern = compilePattern(value, false);
      if ((new RegExp(`${pattern.source}|`, pattern.flags).exec('')?.length ?? 0) < 3)
        throw new ArgError(
          `pattern "${value}" must have 2 captures`,
          'the first one is the script, the second one the path info: ^(.+\\.php)(/.*)$',
        );
      return pattern;
    },
  });
}

export const directives = {
  fastcgi_pass: directive({
    in: ['location', 'if in location'],
    args: template('address'),
    inherit: 'none',
    dynamic: true,
    doc: 'Passes requests to a FastCGI server: host:port, unix:path, or the name of an upstream; it may contain variables.',
  }),
  fastcgi_param: directive({
    in: ANYWHERE,
    args: { name: text('parameter'), value: template('value'), condition: optional(choice('if_not_empty')) },
    many: true,
    doc: 'Sets a parameter of requests; with if_not_empty only if its value is not empty. include fastcgi_params; has the usual ones.',
  }),
  fastcgi_index: directive({
    in: ANYWHERE,
    args: text('name'),
    doc: 'File name that $fastcgi_script_name has after a URI that ends with a slash.',
  }),
  fastcgi_split_path_info: directive({
    in: ['location'],
    args: splitPattern(),
    defines: ({ args }) => args.flatMap((word) => namedGroups(word.text)),
    doc: 'Regular expression whose two captures become $fastcgi_script_name and $fastcgi_path_info.',
  }),
  fastcgi_keep_conn: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Asks FastCGI servers to keep connections open. With keepalive in the upstream they are used again.',
  }),
  fastcgi_catch_stderr: directive({
    in: ANYWHERE,
    args: text('string'),
    many: true,
    doc: 'Takes a response for invalid if the application has written this text to its standard error: fastcgi_next_upstream invalid_header passes the request on then.',
  }),
  ...exchangeDirectives('fastcgi'),
  ...storeDirectives('fastcgi'),
};

export type FastcgiScope = LocationScope<typeof directives>;
