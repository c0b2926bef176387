import type { HttpRequest, Template } from '../../core/contract/http.js';
import type { UriPlan } from '../../core/contract/exchanges.js';
import type { Directive } from '../../core/contract/tree.js';
import type { ProxyScope } from './directives.js';

export type Scheme = 'http' | 'https';

export interface ProxyTarget {
  /** Undefined: known with the request only. */
  readonly scheme: Scheme | undefined;
  readonly url: Template;
  /** Host and port as written: `$proxy_host`. */
  readonly host: Template;
  readonly uri: UriPlan;
  /** URL and replacement of `proxy_redirect default`. */
  readonly redirect: { readonly from: string; readonly to: string } | undefined;
}

export function schemeOf(url: string): Scheme | undefined {
  const [, scheme] = /^(https?):\/\//i.exec(url) ?? [];
  return scheme === undefined ? undefined : scheme.length > 4 ? 'https' : 'http';
}

export function defaultPort(scheme: Scheme | undefined): number {
  return scheme === 'https' ? 443 : 80;
}

/** Takes the URL of proxy_pass apart. With a variable in it the host may be anything, and a path stands for the whole request target. */
export function parseTarget(url: Template, scope: ProxyScope): ProxyTarget {
  const written = scope.directive === undefined ? '' : argumentOf(scope.directive, 'proxy_pass');
  const scheme = schemeOf(written);
  if (url.constant === undefined) return { url, scheme, ...variableTarget(url), redirect: undefined };
  const [, host = '', path = ''] = /^https?:\/\/(unix:[^:]+:?|[^/?#]+)(.*)$/is.exec(written) ?? [];
  const location = locationName(scope.directive);
  if (path !== '' && location === undefined) {
    return scope.fail(
      '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, or inside "if" statement, or inside "limit_except" block',
      'proxy_pass',
    );
  }
  const uri: UriPlan =
    path === '' ? { kind: 'same' } : { kind: 'replace', length: location?.length ?? 0, by: path.startsWith('/') ? path : `/${path}` };
  const redirect = path === '' ? { from: `${url.constant}/`, to: '/' } : { from: url.constant, to: location ?? '/' };
  return { url, scheme, host: constant(host), uri, redirect };
}

/** `http://$backend`, `http://$host$request_uri`: host and path are found in the finished text; without a path the request's own is used. */
function variableTarget(url: Template): { host: Template; uri: UriPlan } {
  const part = (pattern: RegExp) => ({
    constant: undefined,
    of: (request: HttpRequest): string => pattern.exec(url.of(request))?.[1] ?? '',
  });
  const host = part(/^https?:\/\/(unix:[^:]+|[^/?#]+)/i);
  const text = part(/^https?:\/\/(?:unix:[^:]+:?|[^/?#]+)(.*)$/is);
  return { host, uri: { kind: 'template', text } };
}

/** A text that is the same for every request. */
export const constant = (value: string): Template => ({ constant: value, of: () => value });

function argumentOf(block: Directive, name: string): string {
  for (const child of block.block?.named(name) ?? []) return child.args[0]?.text ?? '';
  return '';
}

/** The path a prefix or exact location matched; undefined where it is not a fixed one. */
function locationName(location: Directive | undefined): string | undefined {
  if (location?.name !== 'location') return undefined;
  const words = location.args.map((word) => word.text).join('');
  const path = words.replace(/^(\^~|=)/, '');
  return path.startsWith('~') || path.startsWith('@') ? undefined : path;
}
