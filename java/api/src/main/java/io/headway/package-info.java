/** What an application can let Headway know about itself. */
package io.headway;
