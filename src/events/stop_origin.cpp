#include <agentcore/stop_origin.hpp>

#include <utility>

namespace agentcore {

StopOrigin::StopOrigin(std::string caller, std::string reason)
    : texts_(caller.empty() && reason.empty()
                 ? nullptr
                 : std::make_shared<const Texts>(Texts{std::move(caller), std::move(reason)})) {
}

}  // namespace agentcore
