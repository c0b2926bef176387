import type { HttpRequest, Template } from '../../core/module/http.js';
import type { ExchangePlan } from '../../core/module/services.js';
import { ArgError } from '../../core/module/spec.js';
import type { ProxyScope } from './directives.js';
import { constant, type Target } from './target.js';

/** Gives the new text of a Location that it fits. */
type RedirectRule = (location: string, request: HttpRequest) => string | undefined;

export function rewriter(scope: ProxyScope, { redirect }: Target): ExchangePlan['rewriteLocation'] {
  const rules: RedirectRule[] = [];
  const lines = scope.conf.proxy_redirect.length === 0 ? [undefined] : scope.conf.proxy_redirect;
  for (const line of lines) {
    const [first, second] = line?.words ?? [];
    if (first !== undefined && second !== undefined) rules.push(redirectRule(first, second));
    else if (isWord(first, 'off')) return undefined;
    else if (first !== undefined && !isWord(first, 'default'))
      scope.fail('invalid parameter of "proxy_redirect"', 'proxy_redirect', 'default, off, or what to replace and by what');
    else if (redirect !== undefined) rules.push(prefixRule(constant(redirect.from), constant(redirect.to)));
    else if (line !== undefined)
      scope.fail('"proxy_redirect default" cannot be used with "proxy_pass" directive with variables', 'proxy_redirect');
  }
  if (rules.length === 0) return undefined;
  return (location, request) => {
    for (const rule of rules) {
      const rewritten = rule(location, request);
      if (rewritten !== undefined) return rewritten;
    }
    return undefined;
  };
}

function isWord(word: Template | RegExp | undefined, text: string): boolean {
  return word !== undefined && 'constant' in word && word.constant === text;
}

function redirectRule(from: Template | RegExp, to: Template | RegExp): RedirectRule {
  if (to instanceof RegExp) throw new ArgError('invalid replacement of "proxy_redirect"');
  return from instanceof RegExp ? patternRule(from, to) : prefixRule(from, to);
}

function prefixRule(from: Template, to: Template): RedirectRule {
  return (location, request) => {
    const prefix = from.of(request);
    return location.startsWith(prefix) ? to.of(request) + location.slice(prefix.length) : undefined;
  };
}

/** The replacement stands for the whole text, and may use what was captured. */
function patternRule(pattern: RegExp, to: Template): RedirectRule {
  return (location, request) => {
    const captures = pattern.exec(location);
    if (captures === null) return undefined;
    request.captures = captures;
    return to.of(request);
  };
}
