# The headers of this machine, which a native build has checked.
set(PACKAGE_VERSION_COMPATIBLE TRUE)
