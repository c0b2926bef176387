import { Type } from '../contract/schema.js';
import { pageLimit } from '../contract/versioned.js';

/** Query of a list that goes by server: of one, or of all, in pages. */
export const serverPage = Type.Object({
  addr_port: Type.Optional(Type.String()),
  server_name: Type.Optional(Type.String()),
  after: Type.Optional(Type.Integer({ minimum: 0, description: 'Last entry of the previous page.' })),
  limit: pageLimit(),
});
