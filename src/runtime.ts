const { navigator } = globalThis as { readonly navigator?: { readonly userAgent?: string } }

/** Whether this is workerd, the runtime of Cloudflare Workers. */
export const IS_WORKERD: boolean = navigator?.userAgent === 'Cloudflare-Workers'
