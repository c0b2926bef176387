/** Parts of responses that `?fields=` asks for. */

type Fields = Readonly<Record<string, unknown>>;

/** An object with these fields alone. @param fields separated by commas; undefined: all */
export function select(value: object, fields: string | undefined): object {
  if (fields === undefined) return value;
  const names = fields.split(',');
  return Object.fromEntries(Object.entries(value as Fields).filter(([name]) => names.includes(name)));
}

/** Objects by name, each with these fields alone; for an empty list the names. */
export function selectEach(map: Fields, fields: string | undefined): object {
  if (fields === undefined) return map;
  if (fields === '') return Object.keys(map);
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, select(value as object, fields)]));
}
