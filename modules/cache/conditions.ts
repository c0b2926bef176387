/** Conditions of the configuration: `proxy_cache_bypass` and the like. */
import type { HttpRequest, Template } from '../../core/contract/http.js';

/** One of the texts is neither empty nor `0`. */
export function isTrue(conditions: { readonly conditions: readonly Template[] } | undefined, request: HttpRequest): boolean {
  if (conditions === undefined) return false;
  return conditions.conditions.some((template) => {
    const text = template.of(request);
    return text !== '' && text !== '0';
  });
}
