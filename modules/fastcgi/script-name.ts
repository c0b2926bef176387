import type { HttpRequest } from '../../core/contract/http.js';

/** How a location finds the script in a URI. */
export interface ScriptSettings {
  readonly index: string | undefined;
  readonly split: RegExp | undefined;
}

/** `$fastcgi_script_name` and `$fastcgi_path_info`. */
export function scriptOf({ uri }: HttpRequest, { index, split }: ScriptSettings): { readonly name: string; readonly pathInfo: string } {
  const [, script, pathInfo = ''] = split?.exec(uri) ?? [];
  const name = script ?? uri;
  return { name: name.endsWith('/') ? name + (index ?? '') : name, pathInfo };
}
