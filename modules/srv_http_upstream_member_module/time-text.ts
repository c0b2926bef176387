/** Milliseconds as text: `90s` in whole seconds, else `1500ms`. NGINX Plus clients read no other units. */
export function timeText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}
