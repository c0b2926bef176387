/** The stream module of Debian's nginx, which is a package of its own (libnginx-mod-stream). The variable names it where it is elsewhere. */
export const NGINX_STREAM_MODULE = process.env['NGINX_STREAM_MODULE'] ?? '/usr/lib/nginx/modules/ngx_stream_module.so';
